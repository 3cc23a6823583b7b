package host

// Running reports whether the host has a running executor process.
func (h *Host) Running() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worker != nil && h.worker.alive()
}
