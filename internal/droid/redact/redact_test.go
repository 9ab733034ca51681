package redact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What marks a secret in a text is recognized in each of its usual spellings; only the secret is replaced.
func TestSecretsInTexts(t *testing.T) {
	for text, want := range map[string]string{
		`{"apiKey": "planted-1", "n": 1}`:                                                                    `{"apiKey": "[redacted]", "n": 1}`,
		`{\"password\": \"planted-1\", \"n\": 1}`:                                                            `{\"password\": \"[redacted]\", \"n\": 1}`,
		`'client_secret' : 'planted-1'`:                                                                      `'client_secret' : '[redacted]'`,
		`AWS_SECRET_ACCESS_KEY=planted/1+x AWS_REGION=eu`:                                                    `AWS_SECRET_ACCESS_KEY=[redacted] AWS_REGION=eu`,
		`stripe.secretKey: planted-1`:                                                                        `stripe.secretKey: [redacted]`,
		`Cookie: theme=dark; sid=planted-1; lang=en`:                                                         `Cookie: [redacted]`,
		`curl -H 'Authorization: ApiKey planted-1' https://h`:                                                `curl -H 'Authorization: [redacted]' https://h`,
		`curl -H "authorization:planted-1" https://h`:                                                        `curl -H "authorization:[redacted]" https://h`,
		`Authorization: Bearer planted-1 is refused`:                                                         `Authorization: Bearer [redacted] is refused`,
		`tool --api-key planted-1 --port 80`:                                                                 `tool --api-key [redacted] --port 80`,
		`mysql --password planted-1 shop`:                                                                    `mysql --password [redacted] shop`,
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nplanted\n-----END PGP PRIVATE KEY BLOCK-----\nx":             "-----BEGIN PGP PRIVATE KEY BLOCK-----[redacted]-----END PGP PRIVATE KEY BLOCK-----\nx",
		"-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-128-CBC,1\n\nplanted\n-----END RSA PRIVATE KEY-----": "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\nplanted":                                                               "-----BEGIN PRIVATE KEY-----[redacted]",
		"no -----BEGIN PRIVATE KEY----- in it\n2026-01-02 x":                                                 "no -----BEGIN PRIVATE KEY-----[redacted]-01-02 x",
		"for key, value := range keys { tokens += 12 }":                                                      "for key, value := range keys { tokens += 12 }",
		"monkey = banana1; author: somebody":                                                                 "monkey = banana1; author: somebody",
		"the --token flag, see --password-file":                                                              "the --token flag, see --password-file",
	} {
		require.Equal(t, want, New(nil, "").Text(text))
	}
}

// The value of a field that is named like a secret is replaced, and known in later lines.
func TestSecretFields(t *testing.T) {
	for _, field := range []string{"apiKey", "api_key", "secretAccessKey", "aws_secret_access_key", "SECRET_KEY", "private-key", "ssh_private_key", "refresh_token", "keyPassphrase"} {
		r := New(nil, "")
		line, isJSON := r.Line([]byte(`{"` + field + `":"planted-1","n":"x"}`))
		require.True(t, isJSON)
		require.Equal(t, `{"`+field+`":"[redacted]","n":"x"}`, string(line))
		require.False(t, strings.Contains(r.Text("saw planted-1"), "planted"), field)
	}
	line, _ := New(nil, "").Line([]byte(`{"key":"alpha-beta","tokens":"many of them","monkey":"banana-1"}`))
	require.Equal(t, `{"key":"alpha-beta","tokens":"many of them","monkey":"banana-1"}`, string(line))
}
