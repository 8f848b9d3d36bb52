"""Normalisation, attention, recurrence, quantisation."""

from __future__ import annotations

import numpy as np

from corners import D, F, corner, numbers, ones

U8, I8, I32 = np.uint8, np.int8, np.int32
for dtype in (F, D):
    for shape in ((3, 1), (0, 4), (2, 0), (2, 3, 5), (1, 70000)):
        corner(
            "LayerNormalization",
            numbers(*shape, of=dtype),
            numbers(shape[-1], of=dtype),
            tolerance=1e-3,
        )
        corner(
            "LayerNormalization",
            numbers(*shape, of=dtype),
            numbers(1, of=dtype),
            numbers(shape[-1], of=dtype),
            stash_type=11,
            tolerance=1e-3,
        )
        corner(
            "RMSNormalization",
            numbers(*shape, of=dtype),
            numbers(shape[-1], of=dtype),
            tolerance=1e-3,
        )
    corner(
        "LayerNormalization", numbers(2, 3, of=dtype), numbers(3, of=dtype), None, tolerance=1e-3
    )
    corner(
        "LayerNormalization",
        numbers(2, 3, of=dtype),
        numbers(2, 1, of=dtype),
        outputs=[dtype, F, F],
        axis=0,
        tolerance=1e-3,
    )
    corner(
        "GroupNormalization",
        numbers(0, 4, 2, of=dtype),
        ones(4, of=dtype),
        ones(4, of=dtype),
        num_groups=2,
    )
    corner(
        "GroupNormalization",
        numbers(2, 4, 0, of=dtype),
        ones(4, of=dtype),
        ones(4, of=dtype),
        num_groups=2,
    )
    corner(
        "InstanceNormalization",
        numbers(2, 3, of=dtype),
        ones(3, of=dtype),
        ones(3, of=dtype),
        tolerance=1e-3,
    )
    about = [ones(3, of=dtype) * dtype(0.5)] * 4
    corner("BatchNormalization", numbers(2, 3, 4, of=dtype), *about, tolerance=1e-3)
    corner(
        "BatchNormalization",
        numbers(2, 3, 4, of=dtype),
        *about,
        training_mode=1,
        outputs=[dtype] * 3,
        tolerance=1e-3,
    )
    corner("BatchNormalization", numbers(0, 3, 4, of=dtype), *about)
    q, k, v = (
        numbers(2, 3, 4, 8, of=dtype),
        numbers(2, 3, 5, 8, of=dtype),
        numbers(2, 3, 5, 6, of=dtype),
    )
    past = numbers(2, 3, 2, 8, of=dtype), numbers(2, 3, 2, 6, of=dtype)
    for mask in (
        None,
        numbers(4, 5, of=dtype),
        np.array([[True, False, True, True, False]]),
        numbers(2, 1, 4, 5, of=dtype),
    ):
        for attrs in (
            {},
            {"is_causal": 1},
            {"softcap": 2.0},
            {"softmax_precision": 11},
            {"left_window_size": 1},
            {"right_window_size": 0},
        ):
            corner("Attention", q, k, v, mask, tolerance=1e-3, **attrs)
    for mode in range(4):
        corner(
            "Attention",
            q,
            k,
            v,
            None,
            *past,
            qk_matmul_output_mode=mode,
            outputs=[dtype] * 4,
            tolerance=1e-3,
        )
    corner("Attention", q[:, :, :0], k, v)
    corner("Attention", q[:0], k[:0], v[:0])
    corner(
        "Attention", q, k[:, :, :0], v[:, :, :0], None, *past, outputs=[dtype] * 3, tolerance=1e-3
    )
    corner(
        "Attention",
        q,
        k,
        v,
        None,
        past[0][:, :, :0],
        past[1][:, :, :0],
        outputs=[dtype] * 3,
        tolerance=1e-3,
    )
    corner(
        "Attention",
        numbers(2, 4, 24, of=dtype),
        numbers(2, 5, 24, of=dtype),
        numbers(2, 5, 18, of=dtype),
        q_num_heads=3,
        kv_num_heads=3,
        tolerance=1e-3,
    )
    corner(
        "Attention",
        numbers(2, 0, 24, of=dtype),
        numbers(2, 5, 24, of=dtype),
        numbers(2, 5, 18, of=dtype),
        q_num_heads=3,
        kv_num_heads=3,
    )
    corner(
        "Attention",
        numbers(2, 4, 24, of=dtype),
        numbers(2, 5, 8, of=dtype),
        numbers(2, 5, 6, of=dtype),
        q_num_heads=3,
        kv_num_heads=1,
        tolerance=1e-3,
    )
    corner(
        "Attention",
        numbers(1, 1, 300, 16, of=dtype),
        numbers(1, 1, 300, 16, of=dtype),
        numbers(1, 1, 300, 16, of=dtype),
        tolerance=1e-3,
    )
    corner(
        "RotaryEmbedding",
        numbers(1, 2, 3, 4, of=dtype),
        numbers(5, 2, of=dtype),
        numbers(5, 2, of=dtype),
        np.array([[0, 4, 2]]),
        tolerance=1e-4,
    )
    corner(
        "RotaryEmbedding",
        numbers(1, 2, 3, 4, of=dtype),
        numbers(1, 3, 2, of=dtype),
        numbers(1, 3, 2, of=dtype),
        None,
        tolerance=1e-4,
    )
    corner(
        "RotaryEmbedding",
        numbers(1, 2, 3, 9000, of=dtype),
        numbers(1, 3, 4500, of=dtype),
        numbers(1, 3, 4500, of=dtype),
        tolerance=1e-4,
    )
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for steps, batch, hidden in ((2, 3, 4), (0, 3, 4), (2, 0, 4), (3, 1, 1)):
            x, w, r = (
                numbers(*s, of=dtype)
                for s in ((steps, batch, 5), (1, gates * hidden, 5), (1, gates * hidden, hidden))
            )
            several = [dtype] * (3 if op == "LSTM" else 2)
            corner(op, x, w, r, hidden_size=hidden, outputs=several, tolerance=1e-3)
            corner(op, x, w, r, None, None, hidden_size=hidden, outputs=several, tolerance=1e-3)
            corner(
                op,
                x,
                w,
                r,
                None,
                np.zeros(batch, I32) + min(steps, 1),
                hidden_size=hidden,
                outputs=several,
                tolerance=1e-3,
            )
            corner(
                op,
                x,
                w,
                r,
                hidden_size=hidden,
                outputs=several,
                direction="reverse",
                clip=0.5,
                tolerance=1e-3,
            )
        for name in (
            "Affine",
            "ScaledTanh",
            "HardSigmoid",
            "ThresholdedRelu",
            "LeakyRelu",
            "Elu",
            "Softsign",
            "Softplus",
            "Relu",
        ):
            number = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
            corner(
                op,
                x,
                w,
                r,
                hidden_size=1,
                outputs=several,
                activations=[name] * number,
                activation_alpha=[0.5] * number,
                activation_beta=[0.25] * number,
                tolerance=1e-3,
            )
    corner(
        "LSTM",
        numbers(2, 3, 5, of=dtype),
        numbers(1, 16, 5, of=dtype),
        numbers(1, 16, 4, of=dtype),
        None,
        None,
        None,
        None,
        None,
        hidden_size=4,
        outputs=[dtype] * 3,
        tolerance=1e-3,
    )
    corner(
        "LSTM",
        numbers(2, 3, 5, of=dtype),
        numbers(1, 16, 5, of=dtype),
        numbers(1, 16, 4, of=dtype),
        None,
        None,
        None,
        None,
        numbers(1, 12, of=dtype),
        hidden_size=4,
        outputs=[dtype] * 3,
        tolerance=1e-3,
    )
# ---- bytes ----
for dtype in (U8, I8):
    for a, b in (
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 0), (0, 4)),
        ((0, 3), (3, 4)),
        ((2, 2, 3), (3, 4)),
        ((2, 1, 3), (2, 3, 4)),
        ((1, 2, 70000 // 64), (70000 // 64, 2)),
        ((2, 9000), (9000, 2)),
        ((9000,), (9000,)),
    ):
        left, right = numbers(*a, of=dtype), numbers(*b, of=dtype, seed=1)
        corner("MatMulInteger", left, right, outputs=[I32])
        corner(
            "MatMulInteger", left, right, np.array(1, dtype), np.array([2], dtype), outputs=[I32]
        )
        for scale in (0.5, 1e38, float("nan")):
            about = [np.array(scale, F), np.array(1, dtype)]
            corner(
                "QLinearMatMul", left, *about, right, *about, np.array(0.25, F), np.array(3, dtype)
            )
        if len(a) == 2 and len(b) == 2:
            rows, columns = ones(a[0], of=dtype), ones(b[1], of=dtype)
            corner("MatMulInteger", left, right, rows, columns, outputs=[I32])
            corner("MatMulInteger", left, right, rows[:, None], columns[None], outputs=[I32])
            each = [numbers(a[0]), rows], [numbers(b[1]), columns]
            corner(
                "QLinearMatMul",
                left,
                *each[0],
                right,
                *each[1],
                np.array(0.25, F),
                np.array(3, dtype),
            )
    x = np.array([[0.5, -1, 300, -300, np.nan, np.inf], [1e9, -1e9, 2.5, 3.5, -0.0, 1]], F)
    corner("QuantizeLinear", x, np.array(0.5, F), np.array(3, dtype), outputs=[dtype])
    corner(
        "QuantizeLinear", x, np.array([0.5, 2], F), np.array([3, 4], dtype), axis=0, outputs=[dtype]
    )
    corner(
        "QuantizeLinear",
        x,
        np.array([[0.5, 2], [1, 4]], F),
        np.array([[3, 4], [0, 9]], dtype),
        axis=1,
        block_size=3,
        outputs=[dtype],
    )
    corner(
        "QuantizeLinear",
        x[0],
        np.array([0.5, 2], F),
        np.array([3, 4], dtype),
        axis=0,
        block_size=3,
        outputs=[dtype],
    )
    corner("QuantizeLinear", x[0], np.array([0.5], F), np.array([3], dtype), outputs=[dtype])
    corner("QuantizeLinear", x, np.array([0.5], F), np.array(3, dtype), outputs=[dtype])
    corner(
        "DequantizeLinear",
        numbers(2, 6, of=dtype),
        np.array([0.5, 2], F),
        np.array([3, 0], dtype),
        axis=0,
        outputs=[F],
    )
    corner(
        "DequantizeLinear",
        numbers(2, 6, of=dtype),
        np.array([[0.5, 2], [1, 4]], F),
        np.array([[3, 4], [0, 9]], dtype),
        axis=1,
        block_size=3,
        outputs=[F],
    )
corner(
    "DequantizeLinear",
    np.array([2**30, -5, 7], I32),
    np.array(0.5, F),
    np.array(0, I32),
    outputs=[F],
)
corner(
    "QuantizeLinear", np.array([2**30, -5, 7], I32), np.array(2, I32), np.array(0, U8), outputs=[U8]
)
corner("DynamicQuantizeLinear", numbers(0), outputs=[U8, F, U8])
corner("DynamicQuantizeLinear", numbers(7), outputs=[U8, F, U8])
