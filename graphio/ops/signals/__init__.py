"""Signals: windows, frames, Fourier and cosine transforms, spectrograms, with their gradients.

dft              the transform of real and imaginary parts, on which the others are built
pairs            complex numbers as such parts, and back, without a copy
fourier          fft, rfft and their inverses; shifting: fftshift
windows          hann, hamming, kaiser, vorbis
framing          frame, overlap_and_add
spectral         stft, inverse_stft
cosine           dct, idct; lapped: mdct, the one of frames that overlap by half
mel              bands of frequencies as one hears them, cepstral coefficients
lengths          sizes that the graph or only the run knows
onnx_mel         ONNX's MelWeightMatrix
"""
