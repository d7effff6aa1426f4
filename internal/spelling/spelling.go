// Package spelling finds the name that a misspelt word is likely to mean, and writes how many things there are.
package spelling

import "fmt"

// Nearest returns the one of names that word is likely to mean, the first of equals, and how many of its letters are
// wrong: less than half of them and one; "": none is near.
func Nearest(word string, names []string) (nearest string, wrong int) {
	wrong = len(word)/2 + 1
	for _, n := range names {
		if d := distance(word, n); d < wrong {
			nearest, wrong = n, d
		}
	}
	return nearest, wrong
}

// Suggest returns what to add to an error about word: the name that it is likely to mean, in parentheses after a space;
// "": none is near.
func Suggest(word string, names []string) string {
	if n, _ := Nearest(word, names); n != "" {
		return fmt.Sprintf(" (did you mean %s?)", n)
	}
	return ""
}

// distance is how many letters must be put in, taken out or changed to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
