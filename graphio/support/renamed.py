"""Names of TensorFlow before 1.0, which 1.0 renamed: what they are now.

Programs of 2016 use them. TensorFlow 1.15 lacks them (contrib.deprecated has some), and so does
graphio.
"""

from __future__ import annotations

__all__ = ["RENAMED"]

RENAMED = {
    "batch_band_part": "matrix_band_part",
    "batch_cholesky": "cholesky",
    "batch_cholesky_solve": "cholesky_solve",
    "batch_fft": "fft",
    "batch_fft2d": "fft2d",
    "batch_fft3d": "fft3d",
    "batch_ifft": "ifft",
    "batch_matmul": "matmul",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_diag": "matrix_diag",
    "batch_matrix_diag_part": "matrix_diag_part",
    "batch_matrix_inverse": "matrix_inverse",
    "batch_matrix_solve": "matrix_solve",
    "batch_matrix_solve_ls": "matrix_solve_ls",
    "batch_matrix_transpose": "matrix_transpose",
    "batch_matrix_triangular_solve": "matrix_triangular_solve",
    "batch_self_adjoint_eig": "self_adjoint_eig",
    "batch_svd": "svd",
    "complex_abs": "abs",
    "concat_v2": "concat",
    "contrib.deprecated.audio_summary": "summary.audio",
    "contrib.deprecated.histogram_summary": "summary.histogram",
    "contrib.deprecated.image_summary": "summary.image",
    "contrib.deprecated.merge_all_summaries": "summary.merge_all",
    "contrib.deprecated.merge_summary": "summary.merge",
    "contrib.deprecated.scalar_summary": "summary.scalar",
    "audio_summary": "summary.audio",
    "histogram_summary": "summary.histogram",
    "image_summary": "summary.image",
    "inv": "reciprocal",
    "listdiff": "setdiff1d",
    "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "nn.deconv2d": "nn.conv2d_transpose",
    "nn.rnn": "nn.static_rnn",
    "nn.bidirectional_rnn": "nn.static_bidirectional_rnn",
    "nn.seq2seq": "contrib.legacy_seq2seq",
    "pack": "stack",
    "scalar_summary": "summary.scalar",
    "select": "where",
    "sparse_complement": "sets.difference",
    "sub": "subtract",
    "train.SummaryWriter": "summary.FileWriter",
    "unpack": "unstack",
}
