// Package tomlfile parses TOML files that people write, with errors at the line to be
// changed: it finds the lines of keys, and says of common mistakes what would do.
package tomlfile
