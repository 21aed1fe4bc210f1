package cluster

import (
	"fmt"
	"strings"
)

// login is the one login module of a sasl.jaas.config.
type login struct {
	module  string
	options map[string]string
}

// parseJAAS reads sasl.jaas.config: MODULE required name="value" ... ; with exactly one module
// (org.apache.kafka.common.security.JaasConfig).
func parseJAAS(text string) (login, error) {
	words, err := jaasWords(text)
	if err != nil {
		return login{}, err
	}
	const form = `expected MODULE required name="value" ... ;`
	if len(words) < 3 || words[len(words)-1] != (jaasWord{text: ";"}) {
		return login{}, fmt.Errorf("%s, found no ';' at the end, or too little before it", form)
	}
	out := login{module: words[0].text, options: map[string]string{}}
	switch strings.ToLower(words[1].text) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return login{}, fmt.Errorf("%s, the second word is none of required, requisite, sufficient, optional", form)
	}
	// Words are not repeated in errors: where quotes are wrong, any of them may be of a password.
	rest := words[2 : len(words)-1]
	for len(rest) > 0 {
		if rest[0] == (jaasWord{text: ";"}) {
			return login{}, fmt.Errorf("%s, found more than one module", form)
		}
		if len(rest) < 3 || rest[1] != (jaasWord{text: "="}) {
			return login{}, fmt.Errorf("%s, found no '=' after option %d", form, len(out.options)+1)
		}
		if v := rest[2]; !v.quoted && (v.text == "=" || v.text == ";") {
			return login{}, fmt.Errorf("%s, option %d has no value", form, len(out.options)+1)
		}
		out.options[rest[0].text] = rest[2].text
		rest = rest[3:]
	}
	return out, nil
}

type jaasWord struct {
	text   string
	quoted bool
}

func jaasWords(s string) ([]jaasWord, error) {
	var out []jaasWord
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c <= ' ':
			i++
		case c == ';' || c == '=':
			out = append(out, jaasWord{text: string(c)})
			i++
		case c == '"' || c == '\'':
			var b strings.Builder
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' && i+1 < len(s) {
					i++
					if n := strings.IndexByte("nrtbf", s[i]); n >= 0 {
						b.WriteByte("\n\r\t\b\f"[n])
						continue
					}
				}
				b.WriteByte(s[i])
			}
			if i == len(s) {
				return nil, fmt.Errorf("a quoted value does not end")
			}
			i++
			out = append(out, jaasWord{b.String(), true})
		default:
			end := strings.IndexAny(s[i:], "=;\"' \t\r\n\f")
			if end < 0 {
				end = len(s) - i
			}
			out = append(out, jaasWord{text: s[i : i+end]})
			i += end
		}
	}
	return out, nil
}
