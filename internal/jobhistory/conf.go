package jobhistory

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadConf reads a job's configuration from r, which the job history server keeps beside the history
// (job_..._conf.xml). It returns the properties of MapReduce. name is the name of the file in errors.
func ReadConf(name string, r io.Reader) (map[string]string, error) {
	limited := &io.LimitedReader{R: r, N: maxText}
	d := xml.NewDecoder(limited)
	conf := map[string]string{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return conf, nil
		}
		if err != nil {
			if limited.N == 0 {
				err = fmt.Errorf("is longer than %d MiB", maxText>>20)
			}
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "property" {
			continue
		}
		var p struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		}
		if err := d.DecodeElement(&p, &start); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = ErrCut
			}
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if strings.HasPrefix(p.Name, "mapreduce.") || strings.HasPrefix(p.Name, "yarn.app.mapreduce.") {
			conf[p.Name] = p.Value
		}
	}
}
