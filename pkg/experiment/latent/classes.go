package latent

import (
	"fmt"
	"math/rand/v2"

	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/transport/sliced"
)

// classNeighbours vote in the classifiers that judge labels.
const classNeighbours = 15

// LabelsNote explains the values of ScoreLabels.
const LabelsNote = "; label total variation is that of the labels that particles were made with and of held-out ones; class accuracy is how often held-out neighbours take a particle for what it was made to be; downstream accuracy is that of a classifier of generated latents on held-out ones (the 15 nearest vote in both); for real ones as many public latents stand in"

// ScoreClasses adds how far the classes of points are from those of held-out
// latents in number, where the data has labels: both as the public latents around them
// say, so that what these get wrong they get wrong on both sides.
func (d *Data) ScoreClasses(x transport.Points, to run.Values) error {
	if d.Labels.Public == nil || d.Labels.Test == nil {
		return nil
	}
	classifier := metric.KNN{K: min(classNeighbours, d.Public.Len()), Points: d.Public, Labels: d.Labels.Public}
	held, err := d.heldOutClasses(classifier)
	if err != nil {
		return err
	}
	if err := x.Check(); err != nil {
		return err
	}
	made, err := classifier.Classify(x)
	if err != nil {
		return err
	}
	h, err := metric.CompareHistograms(made, held, classifier.Classes())
	if err != nil {
		return err
	}
	to["class total variation"], to["class total variation floor"] = h.TotalVariation, h.Floor
	return nil
}

// heldOutClasses are those of the held-out latents, as a classifier sees them that is
// always the same.
func (d *Data) heldOutClasses(classifier metric.KNN) ([]int, error) {
	d.known.Lock()
	defer d.known.Unlock()
	if d.known.classes == nil {
		classes, err := classifier.Classify(d.known.test)
		if err != nil {
			return nil, err
		}
		d.known.classes = classes
	}
	return d.known.classes, nil
}

// ScoreLabels measures particles with labels against held-out latents, and for
// comparison as many real public ones.
func (d *Data) ScoreLabels(x transport.Points, labels []int, seed uint64) (run.Values, error) {
	h, err := metric.CompareHistograms(labels, d.Labels.Test, len(d.Classes))
	if err != nil {
		return nil, err
	}
	values, err := d.scoreLabels(x, labels, seed)
	if err != nil {
		return nil, err
	}
	values["label total variation"], values["label total variation floor"] = h.TotalVariation, h.Floor
	real, err := d.scoreReal(x.Len(), seed)
	for name, value := range real {
		values[name+" of real"] = value
	}
	return values, err
}

// scoreReal is scoreLabels of count public latents, or as many as are held out if that is
// fewer.
func (d *Data) scoreReal(count int, seed uint64) (run.Values, error) {
	d.known.Lock()
	defer d.known.Unlock()
	if last := d.known.real; last.values != nil && last.seed == seed && last.count == count {
		return last.values, nil
	}
	rng := rand.New(rand.NewPCG(seed, 0x636c6173))
	chosen := rng.Perm(d.Public.Len())[:min(count, d.Public.Len())]
	labels := make([]int, len(chosen))
	for i, row := range chosen {
		labels[i] = d.Labels.Public[row]
	}
	values, err := d.scoreLabels(d.Public.Subset(chosen), labels, seed)
	if err == nil {
		d.known.real = realLabels{seed, count, values}
	}
	return values, err
}

// scoreLabels holds points with labels against the held-out ones.
func (d *Data) scoreLabels(x transport.Points, labels []int, seed uint64) (values run.Values, err error) {
	values = run.Values{}
	if values["class accuracy"], err = accuracy(d.Test, d.Labels.Test, x, labels); err != nil {
		return nil, err
	}
	if values["downstream accuracy"], err = accuracy(x, labels, d.Test, d.Labels.Test); err != nil {
		return nil, err
	}
	values["sliced W₂ within classes"], err = d.within(x, labels, seed)
	return values, err
}

// accuracy of nearest neighbours that have learnt from x, on another sample.
func accuracy(x transport.Points, labels []int, on transport.Points, want []int) (float64, error) {
	got, err := metric.KNN{K: min(classNeighbours, x.Len()), Points: x, Labels: labels}.Classify(on)
	return metric.Agreement(got, want).Value, err
}

// within is the sliced W₂ to the held-out latents of the same class, in the mean
// over those; classes that x lacks are left out.
func (d *Data) within(x transport.Points, labels []int, seed uint64) (float64, error) {
	u := sliced.Orthonormal(x.Dim, metric.DefaultStacks, rand.New(rand.NewPCG(seed, 0x77697468)))
	var sum float64
	count := 0
	for class := range d.Classes {
		made, held := members(labels, class), members(d.Labels.Test, class)
		if len(made) == 0 || len(held) == 0 {
			continue
		}
		distance, err := sliced.SW2(x.Subset(made), d.Test.Subset(held), u)
		if err != nil {
			return 0, err
		}
		sum += float64(len(held)) * distance.Value
		count += len(held)
	}
	if count == 0 {
		return 0, fmt.Errorf("no held-out row has a class of what was made")
	}
	return sum / float64(count), nil
}

// members returns where labels are of a class.
func members(labels []int, class int) (rows []int) {
	for i, label := range labels {
		if label == class {
			rows = append(rows, i)
		}
	}
	return rows
}
