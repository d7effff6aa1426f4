package yarn

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits on a configuration file of XML. 10,000 queues with eight properties each stay within them.
const (
	mostXML      = 4 << 20 // bytes
	mostXMLDepth = 2*mostDepth + 8
	mostElements = 500_000
)

// readXML reads a configuration file's text into doc. It refuses files that would take much more memory than they are
// long: too long, too deep, of too many elements, or with declarations of their own (DTD), which Hadoop's files need
// not. As Hadoop, it also refuses elements and text outside the root element, which Unmarshal would drop.
func readXML(text []byte, doc any) error {
	if len(text) > mostXML {
		return fmt.Errorf("%d bytes: must be at most %d MiB", len(text), mostXML>>20)
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	for depth, elements := 0, 0; ; {
		line, _ := d.InputPos()
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if depth == 0 {
			if err := outside(token, line, elements > 0); err != nil {
				return err
			}
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			elements++
		case xml.EndElement:
			depth--
		case xml.Directive:
			if strings.HasPrefix(string(token), "DOCTYPE") || strings.HasPrefix(string(token), "ENTITY") {
				return fmt.Errorf("line %d: a document type declaration: must be elements only", line)
			}
		}
		if depth > mostXMLDepth {
			return fmt.Errorf("line %d: nested more than %d deep", line, mostXMLDepth)
		}
		if elements > mostElements {
			return fmt.Errorf("line %d: more than %d elements", line, mostElements)
		}
	}
	return xml.Unmarshal(text, doc)
}

// outside returns an error if a token that begins on a line, where no element is open, may not be there. after: the
// root element has ended. Comments, spaces and the byte order mark may be there.
func outside(token xml.Token, line int, after bool) error {
	switch token := token.(type) {
	case xml.StartElement:
		if after {
			return fmt.Errorf("line %d: <%s> after the end of the root element", line, token.Name.Local)
		}
	case xml.EndElement:
		return fmt.Errorf("line %d: </%s> ends no element", line, token.Name.Local)
	case xml.CharData:
		text := bytes.TrimLeft(bytes.TrimPrefix(token, []byte("\ufeff")), " \t\r\n")
		if len(text) > 0 {
			line += bytes.Count(token[:len(token)-len(text)], []byte("\n"))
			return fmt.Errorf("line %d: text outside the root element", line)
		}
	}
	return nil
}
