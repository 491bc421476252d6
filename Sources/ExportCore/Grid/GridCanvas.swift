import Devices
import Glibc
import Media

/// The layout of a grid's cells: as many columns as rows, or one more.
struct GridLayout: Hashable {
    let size: PictureSize
    let columns: Int
    let rows: Int

    /// - Parameters:
    ///   - cells: at least one.
    ///   - size: of the grid, even.
    init(cells: Int, size: PictureSize) {
        self.size = size
        columns = Self.columns(cells)
        rows = (cells + columns - 1) / columns
    }

    private static func columns(_ cells: Int) -> Int {
        var columns = 1
        while columns * columns < cells { columns += 1 }
        return columns
    }

    /// The largest even size of a grid whose cells have the shape of these pictures: only unused cells stay black.
    static func filledSize(
        cells: Int, of picture: PictureSize, aspect: SampleAspectRatio?, within most: PictureSize
    ) -> PictureSize {
        let columns = columns(cells)
        let rows = (cells + columns - 1) / columns
        let shown = max(
            1, picture.width * Int(aspect?.horizontal ?? 1) / max(1, Int(aspect?.vertical ?? 1)))
        var width = most.width / columns
        var height = width * picture.height / shown
        if height > most.height / rows {
            height = most.height / rows
            width = height * shown / max(1, picture.height)
        }
        // A strip has to fit its label.
        return PictureSize(
            width: max(leastSide, (width & ~1) * columns),
            height: max(leastSide, (height & ~1) * rows))
    }

    /// The minimum for requested sizes, too.
    private static let leastSide = 64

    /// A cell's position and size, even.
    func cell(_ index: Int) -> (x: Int, y: Int, size: PictureSize) {
        let width = size.width / columns & ~1
        let height = size.height / rows & ~1
        return (
            index % columns * width, index / columns * height,
            PictureSize(width: width, height: height)
        )
    }

    /// The largest size of that shape that fits into a cell, and its offset.
    func fitted(
        _ picture: PictureSize, aspect: SampleAspectRatio?, into cell: PictureSize
    ) -> (x: Int, y: Int, size: PictureSize) {
        let shown = picture.width * Int(aspect?.horizontal ?? 1) / Int(aspect?.vertical ?? 1)
        var width = cell.width
        var height = max(2, width * picture.height / max(1, shown))
        if height > cell.height {
            height = cell.height
            width = max(2, height * shown / max(1, picture.height))
        }
        width = min(width, cell.width) & ~1
        height = min(height, cell.height) & ~1
        return (
            (cell.width - width) / 2 & ~1, (cell.height - height) / 2 & ~1,
            PictureSize(width: max(2, width), height: max(2, height))
        )
    }
}

/// Draws pictures and text into a picture.
struct GridCanvas {
    private static let black: (UInt8, UInt8, UInt8) = (16, 128, 128)
    private static let slate: (UInt8, UInt8, UInt8) = (44, 128, 128)
    private static let white: UInt8 = 235

    let buffer: PictureBuffer

    /// Clears the picture to black.
    func clear() {
        fill(0, 0, PictureSize(width: buffer.width, height: buffer.height), Self.black)
    }

    /// Fills a cell without a picture.
    func slate(_ x: Int, _ y: Int, _ size: PictureSize) { fill(x, y, size, Self.slate) }

    private func fill(_ x: Int, _ y: Int, _ size: PictureSize, _ colour: (UInt8, UInt8, UInt8)) {
        for (index, value) in [colour.0, colour.1, colour.2].enumerated() {
            let shift = index == 0 ? 0 : 1
            let plane = buffer.planes[index]
            for row in y >> shift..<(y + size.height) >> shift {
                memset(
                    plane.baseAddress + row * plane.bytesPerRow + x >> shift, Int32(value),
                    size.width >> shift)
            }
        }
    }

    /// Draws a picture in YUV 4:2:0, which must fit.
    func put(_ picture: RawFrame, _ x: Int, _ y: Int) {
        precondition(x + picture.width <= buffer.width && y + picture.height <= buffer.height)
        withExtendedLifetime(picture.owner) {
            for index in 0..<3 {
                let shift = index == 0 ? 0 : 1
                let (from, to) = (picture.planes[index], buffer.planes[index])
                for row in 0..<picture.height >> shift {
                    memcpy(
                        to.baseAddress + (y >> shift + row) * to.bytesPerRow + x >> shift,
                        from.baseAddress + row * from.bytesPerRow, picture.width >> shift)
                }
            }
        }
    }

    /// Draws white text on a dark background, `scale` pixels per dot, clipped at the picture's edge.
    func write(_ text: String, _ x: Int, _ y: Int, scale: Int) {
        let letters = Array(text.utf8)
        let cell = (BitmapFont.width + 1) * scale
        let size = PictureSize(
            width: min(letters.count * cell + 2 * scale, buffer.width - x) & ~1,
            height: min((BitmapFont.height + 4) * scale, buffer.height - y) & ~1)
        guard size.width > 0, size.height > 0 else { return }
        fill(x & ~1, y & ~1, size, Self.black)
        let luma = buffer.planes[0]
        for (index, letter) in letters.enumerated() {
            for (row, dots) in BitmapFont.rows(of: letter).enumerated() {
                for dot in 0..<BitmapFont.width where dots & (0x10 >> UInt8(dot)) != 0 {
                    let left = x + (index * cell) + (dot + 2) * scale
                    guard left + scale <= buffer.width else { continue }
                    for line in 0..<scale {
                        let top = y + (row + 2) * scale + line
                        guard top < buffer.height else { continue }
                        memset(
                            luma.baseAddress + top * luma.bytesPerRow + left, Int32(Self.white),
                            scale)
                    }
                }
            }
        }
    }
}
