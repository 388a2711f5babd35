package dataset

import (
	"strings"

	"molehill/pkg/plugin"
)

func init() {
	Registry.Register(mnist)
	Registry.Register(fashion)
}

// mnist is the MNIST database as its authors published it.
var mnist = images{
	info: plugin.Info{
		Name:    "mnist",
		Summary: "70,000 handwritten digits, 28×28, in ten classes",
		Version: "1",
		Source:  "LeCun, Cortes, Burges, The MNIST database of handwritten digits, 1998; commonly cited as CC BY-SA 3.0",
	},
	classes: digits,
	files: files("mnist", [4]fingerprint{
		{9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
		{28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
		{1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
		{4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
	},
		"https://storage.googleapis.com/cvdf-datasets/mnist/",
		"https://ossci-datasets.s3.amazonaws.com/mnist/",
	),
}

// fashion is Fashion-MNIST as its authors published it.
var fashion = images{
	info: plugin.Info{
		Name:    "fashion-mnist",
		Summary: "70,000 pictures of clothing, 28×28, in ten classes",
		Version: "1",
		Source:  "Xiao, Rasul & Vollgraf 2017; github.com/zalandoresearch/fashion-mnist, MIT licence",
	},
	classes: []string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"},
	files: files("fashion-mnist", [4]fingerprint{
		{26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
		{29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
		{4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
		{5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
	},
		"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
	),
}

var digits = strings.Split("0123456789", "")

// fingerprint tells a file from every other: its size, its SHA-256, and the
// SHA-256 of what is packed in it.
type fingerprint struct {
	size           int64
	packed, values string
}

// files returns the four files of an MNIST-like data set.
func files(folder string, prints [4]fingerprint, mirrors ...string) (all [4]File) {
	for i, name := range [4]string{
		"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
		"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz",
	} {
		all[i] = File{Path: folder + "/" + name, Size: prints[i].size, SHA256: prints[i].packed, Unpacked: prints[i].values}
		for _, mirror := range mirrors {
			all[i].Mirrors = append(all[i].Mirrors, mirror+name)
		}
	}
	return all
}
