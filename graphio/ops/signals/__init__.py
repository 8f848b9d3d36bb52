"""Signals: windows, frames, Fourier and cosine transforms, spectrograms, with their gradients.

dft              the transform of real and imaginary parts, on which the others are built
windows          hann, hamming, kaiser, vorbis
framing          frame; adding: overlap_and_add
cosine           dct, idct; mdct: the modified transform of overlapping frames
mel              bands of frequencies as one hears them, cepstral coefficients
"""
