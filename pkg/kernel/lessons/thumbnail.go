package lessons

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"golang.org/x/image/draw"
)

// Dots of a card's picture.
const (
	thumbnailWidth  = 480
	thumbnailHeight = 300
)

// largestPicture bounds what is decoded: a header may promise more dots than
// there is memory for.
const largestPicture = 1 << 26

// thumbnail scales a picture to the width of a card, cuts off what is below it
// and fills what is missing with white.
func thumbnail(data []byte) ([]byte, error) {
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if config.Width < 1 || config.Height < 1 || config.Width > largestPicture/config.Height {
		return nil, fmt.Errorf("%d×%d dots: expected %d or fewer", config.Width, config.Height, largestPicture)
	}
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	full := image.NewRGBA(image.Rect(0, 0, thumbnailWidth, thumbnailHeight))
	draw.Draw(full, full.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	bounds := from.Bounds()
	height := max(1, bounds.Dy()*thumbnailWidth/bounds.Dx())
	top := max(0, (thumbnailHeight-height)/2) // a flat picture stands in the middle
	draw.CatmullRom.Scale(full, image.Rect(0, top, thumbnailWidth, top+height), from, bounds, draw.Over, nil)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, full); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
