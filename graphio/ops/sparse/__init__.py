"""SparseTensors: conversion, order, arithmetic."""
