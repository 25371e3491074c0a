package key

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
)

const (
	// secretStart begins each secret, so that people and scanners recognise one.
	secretStart = "sk_"
	// shown is how many characters of a secret its key's prefix has.
	shown = len(secretStart) + 6
	// maxSecret is the longest text that is looked up as a secret, in bytes.
	maxSecret = 255
)

// newSecret makes a secret: 208 random bits.
func newSecret() string {
	return secretStart + strings.ToLower(rand.Text()+rand.Text()[:16])
}

// hash is what the database holds of a secret. A secret has far too many random bits to be guessed, so that a slow hash adds nothing.
func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// bearer answers the secret in an Authorization header, "" where it holds none.
func bearer(header string) string {
	scheme, secret, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || len(secret) > maxSecret {
		return ""
	}
	return strings.Trim(secret, " ")
}
