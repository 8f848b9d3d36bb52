"""Images: Resize, GridSample, regions of interest, depth and space."""
