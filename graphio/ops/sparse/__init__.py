"""SparseTensors: conversion, order, arithmetic, map_fn.

arranging        reorder, reshape, concat, slice; parts: checks and choices of coordinates
"""
