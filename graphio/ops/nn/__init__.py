"""Operators of neural networks: activations, convolution, pooling, normalisation, losses.

TensorFlow's functions are channels-last, ONNX is channels-first. Convolution and pooling are
operators of domain `graphio` with an ONNX body (transposes and ONNX's operator): no transpose runs,
and an export loses nothing.

    core             relu, softmax, dropout and their gradients; activations: gradients of others
    conv, pooling    conv2d, max_pool; windows: conv1d, conv3d, max_pool3d and others;
                     conv_nd, pool_nd: gradients of ONNX's; padding, batches: their arguments
    crossentropy     losses; candidates: sampled losses; ctc: ctc_loss
    statistics       batch normalisation, moments; embedding: embedding_lookup_sparse
    normalize, attention, recurrent, deform, regions, quantize    gradients of ONNX's operators
    narrow_integers  integers through kernels for floating-point numbers
"""
