// Package colltune holds no code: the program is cmd/colltune, and the rooms
// it is made of are the folders beside this file. ARCHITECTURE.md is their map;
// the test here keeps imports pointing down it.
package colltune
