package host

// Running reports whether the executor's process is there, as its host knows it.
func (h *Host) Running() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worker != nil && h.worker.alive()
}
