package lists

// Map returns what f makes of each element, in order.
func Map[T, U any](all []T, f func(T) U) []U {
	made := make([]U, len(all))
	for i, x := range all {
		made[i] = f(x)
	}
	return made
}

// UpTo returns the numbers below n, in order.
func UpTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
