package origin

import (
	"fmt"
	"math/rand/v2"
)

// text is a page of so many bytes, the same each time: few words are frequent and many are rare, as in a language, so
// that encoders find about what they find in pages of people.
func text(length int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	syllables := []string{"ba", "con", "de", "er", "fi", "gra", "in", "lo", "me", "nu", "or",
		"pre", "qua", "ri", "sta", "ter"}
	words := make([]string, 2000)
	for i := range words {
		for range 1 + random.IntN(4) {
			words[i] += syllables[random.IntN(len(syllables))]
		}
	}
	zipf := rand.NewZipf(random, 1.1, 2, uint64(len(words)-1))
	page := []byte("<!doctype html>\n<html><body>\n")
	for line := 0; len(page) < length; line++ {
		page = fmt.Appendf(page, "<p class=\"line\" id=\"p%d\">", line)
		for range 8 + random.IntN(12) {
			page = append(append(page, words[zipf.Uint64()]...), ' ')
		}
		page = append(page, "</p>\n"...)
	}
	return page[:length]
}
