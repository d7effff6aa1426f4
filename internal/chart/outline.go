package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// An outlined canvas makes SVG in which text is shapes, so that a picture needs no font of the machine that shows it.
// Each letter's shape stands in the picture once. Text lies above all else. A canvas is drawn on with strings that are
// turned, and never moved or scaled: so does gonum.
type outlined struct {
	*vgsvg.Canvas
	high   vg.Length
	turns  []float64 // radians, counter-clockwise; the last one holds, those before come back by Pop
	words  []string
	texts  bytes.Buffer // elements that place letters
	shapes bytes.Buffer // elements that define them
	known  map[letter]bool
	buffer sfnt.Buffer
}

// A letter is a glyph of a font.
type letter struct {
	font  string
	glyph sfnt.GlyphIndex
}

func (l letter) String() string { return fmt.Sprintf("%s-%d", l.font, l.glyph) }

func newOutlined(wide, high vg.Length) *outlined {
	return &outlined{Canvas: vgsvg.New(wide, high), high: high, turns: []float64{0}, known: map[letter]bool{}}
}

// Push implements vg.Canvas.
func (o *outlined) Push() {
	o.turns = append(o.turns, o.turns[len(o.turns)-1])
	o.Canvas.Push()
}

// Pop implements vg.Canvas.
func (o *outlined) Pop() {
	o.turns = o.turns[:len(o.turns)-1]
	o.Canvas.Pop()
}

// Rotate implements vg.Canvas.
func (o *outlined) Rotate(by float64) {
	o.turns[len(o.turns)-1] += by
	o.Canvas.Rotate(by)
}

// FillString implements vg.Canvas: it places a text whose baseline begins at a point.
func (o *outlined) FillString(f font.Face, at vg.Point, text string) {
	o.words = append(o.words, text)
	turn := o.turns[len(o.turns)-1]
	sin, cos := math.Sincos(turn)
	units := fixed.Int26_6(f.Face.UnitsPerEm()) // letters are shaped as large as the font was designed
	fmt.Fprintf(&o.texts, `<g transform="translate(%.2f %.2f)`, float64(at.X)*cos-float64(at.Y)*sin,
		float64(o.high)-float64(at.X)*sin-float64(at.Y)*cos)
	if turn != 0 {
		fmt.Fprintf(&o.texts, " rotate(%.4g)", -turn*180/math.Pi)
	}
	fmt.Fprintf(&o.texts, ` scale(%.5f)">`, float64(f.Font.Size)/float64(units))
	x := fixed.Int26_6(0)
	for _, r := range text {
		glyph, err := f.Face.GlyphIndex(&o.buffer, r)
		must(err)
		l := letter{f.Name(), glyph}
		if !o.known[l] {
			o.known[l] = true
			o.shape(l, f, units)
		}
		fmt.Fprintf(&o.texts, `<use href="#%v" x="%d"/>`, l, x)
		wide, err := f.Face.GlyphAdvance(&o.buffer, glyph, units, xfont.HintingNone)
		must(err)
		x += wide
	}
	o.texts.WriteString("</g>\n")
}

// shape defines the shape of a letter, in units of its font.
func (o *outlined) shape(l letter, f font.Face, units fixed.Int26_6) {
	segments, err := f.Face.LoadGlyph(&o.buffer, l.glyph, units, nil)
	must(err)
	fmt.Fprintf(&o.shapes, `<path id="%v" d="`, l)
	for _, s := range segments {
		points := s.Args[:1]
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			o.shapes.WriteByte('M')
		case sfnt.SegmentOpLineTo:
			o.shapes.WriteByte('L')
		case sfnt.SegmentOpQuadTo:
			o.shapes.WriteByte('Q')
			points = s.Args[:2]
		case sfnt.SegmentOpCubeTo:
			o.shapes.WriteByte('C')
			points = s.Args[:3]
		}
		for i, p := range points {
			if i > 0 {
				o.shapes.WriteByte(' ')
			}
			fmt.Fprintf(&o.shapes, "%d %d", p.X, p.Y)
		}
	}
	o.shapes.WriteString("\"/>\n")
}

// WriteTo writes the picture. Its description has the texts, for readers who do not see it.
func (o *outlined) WriteTo(out io.Writer) (int64, error) {
	var svg, words bytes.Buffer
	if _, err := o.Canvas.WriteTo(&svg); err != nil {
		return 0, err
	}
	if err := xml.EscapeText(&words, []byte(strings.Join(o.words, "\n"))); err != nil {
		return 0, err
	}
	const head, tail = `xmlns:xlink="http://www.w3.org/1999/xlink">`, "</svg>"
	picture := strings.Replace(svg.String(), head, fmt.Sprintf("%s\n<desc>%s</desc>\n<defs>\n%s</defs>", head, &words,
		&o.shapes), 1)
	n, err := io.WriteString(out, strings.Replace(picture, tail, o.texts.String()+tail, 1))
	return int64(n), err
}

// must panics on an error of the fonts, which are part of this program.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("chart: the font of the program is damaged: %v", err))
	}
}
