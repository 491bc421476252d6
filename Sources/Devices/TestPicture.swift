package import Media

/// Paints the test pattern of the contract: the time code at the top, below it the source's name, the time and the
/// picture's number as text, and a disc that moves over colour bars.
///
/// Static parts are painted once per buffer; a new picture only needs the code, the changed digits and the disc.
package struct TestPicture {
    /// The smallest picture whose text can be read.
    package static let minimumSize = PictureSize(width: 160, height: 90)

    private let layout: Layout
    private let background: PictureBuffer
    private let disc: Disc
    private let utcOffsetNanoseconds: Int64
    private var pool: PicturePool
    /// The moving parts, for each of the pool's buffers.
    private var painted: [Painted] = []

    /// - Parameter utcOffsetNanoseconds: offset from capture times to UTC.
    /// - Precondition: the size is even and at least ``minimumSize``.
    package init(size: PictureSize, sourceName: String, utcOffsetNanoseconds: Int64) {
        precondition(size.width >= Self.minimumSize.width)
        precondition(size.height >= Self.minimumSize.height)
        self.utcOffsetNanoseconds = utcOffsetNanoseconds
        layout = Layout(size: size)
        background = PictureBuffer(width: size.width, height: size.height)
        disc = Disc(radius: size.height / 16)
        pool = PicturePool(width: size.width, height: size.height)
        paintBackground(sourceName: sourceName)
    }

    /// Picture `number`; the frame's memory is reused only after the frame was released.
    package mutating func paint(
        number: Int64, captureNanoseconds: Int64, durationNanoseconds: Int64
    ) -> RawFrame {
        let (buffer, place) = pool.take()
        if place == painted.count {
            buffer.copyContent(of: background)
            painted.append(Painted())
        }
        paintCode(captureNanoseconds, into: buffer)
        paintText(number: number, captureNanoseconds, into: buffer, place: place)
        let position = layout.discPosition(
            atNanoseconds: captureNanoseconds, radius: disc.radius)
        if let old = painted[place].disc {
            disc.erase(at: old, from: buffer, background: background)
        }
        disc.paint(at: position, into: buffer)
        painted[place].disc = position
        return buffer.frame(
            captureNanoseconds: captureNanoseconds, durationNanoseconds: durationNanoseconds,
            colour: .bt709)
    }

    private func paintBackground(sourceName: String) {
        let width = background.width
        let height = background.height
        background.fill(columns: 0..<width, rows: 0..<height, with: .black)
        background.fill(columns: 0..<width, rows: layout.text, with: .slate)
        for (index, bar) in Colour.bars.enumerated() {
            let left = (index * width / Colour.bars.count) & ~1
            let right = ((index + 1) * width / Colour.bars.count) & ~1
            background.fill(columns: left..<right, rows: layout.bars, with: bar)
        }
        for (column, character) in sourceName.utf8.prefix(layout.columns).enumerated() {
            paint(character, line: 0, column: column, into: background)
        }
    }

    private func paintCode(_ captureNanoseconds: Int64, into buffer: PictureBuffer) {
        let bytes = TimeCode(captureNanoseconds: UInt64(bitPattern: captureNanoseconds)).bytes
        for bit in 0..<TimeCode.rows * TimeCode.columns {
            let isSet = bytes[bit / 8] & (0x80 >> UInt8(bit % 8)) != 0
            let cell = TimeCode.cell(bit, width: buffer.width, height: buffer.height)
            buffer.fillLuma(
                columns: cell.columns, rows: cell.rows,
                with: isSet ? TimeCode.luma.one : TimeCode.luma.zero)
        }
    }

    private mutating func paintText(
        number: Int64, _ captureNanoseconds: Int64, into buffer: PictureBuffer, place: Int
    ) {
        let lines = [
            TimeText.utc(nanoseconds: captureNanoseconds + utcOffsetNanoseconds),
            TimeText.seconds(nanoseconds: captureNanoseconds),
            TimeText.padded(number, digits: 7, prefix: "#"),
        ]
        for (index, line) in lines.enumerated() {
            let old = painted[place].lines[index]
            for (column, character) in line.prefix(layout.columns).enumerated()
            where column >= old.count || old[column] != character {
                paint(character, line: index + 1, column: column, into: buffer)
            }
        }
        painted[place].lines = lines
    }

    /// One character with the space to its right, over the present content.
    private func paint(_ character: UInt8, line: Int, column: Int, into buffer: PictureBuffer) {
        let scale = layout.scale
        let left = layout.margin + column * Layout.cellWidth * scale
        let top = layout.top(ofLine: line)
        for (row, dots) in BitmapFont.rows(of: character).enumerated() {
            let rows = top + row * scale..<top + (row + 1) * scale
            for dot in 0..<BitmapFont.width {
                let isSet = dots & (0x10 >> UInt8(dot)) != 0
                buffer.fillLuma(
                    columns: left + dot * scale..<left + (dot + 1) * scale, rows: rows,
                    with: isSet ? Colour.white.y : Colour.slate.y)
            }
        }
    }

    /// Differences of a buffer from the background.
    private struct Painted {
        var lines: [[UInt8]] = [[], [], []]
        var disc: (x: Int, y: Int)?
    }
}

/// Positions in a picture of one size.
private struct Layout {
    /// Width of a character cell, including the space to its right, in font dots.
    static let cellWidth = BitmapFont.width + 1
    /// Height of a character cell with the space below, in font dots.
    private static let cellHeight = BitmapFont.height + 3
    private static let lines = 4
    /// The longest line: "2026-11-20 22:40:00.000".
    private static let lineLength = 23

    let text: Range<Int>
    let bars: Range<Int>
    /// Pixels per dot.
    let scale: Int
    /// Characters per line.
    let columns: Int
    let margin: Int
    private let width: Int

    init(size: PictureSize) {
        width = size.width
        // Planes of half height: bands begin at even rows.
        let codeEnd = (size.height / 8 + 1) & ~1
        let textEnd = (size.height * 5 / 8) & ~1
        text = codeEnd..<textEnd
        bars = textEnd..<size.height
        scale = max(
            1,
            min(
                width / ((Self.lineLength + 1) * Self.cellWidth),
                text.count / (Self.lines * Self.cellHeight)))
        margin = scale * Self.cellWidth / 2
        columns = (width - margin) / (Self.cellWidth * scale)
    }

    func top(ofLine line: Int) -> Int {
        text.lowerBound + scale + line * text.count / Self.lines
    }

    /// The disc's centre: it oscillates within the bars, once across in 4 s and once down in 1.3 s.
    func discPosition(atNanoseconds time: Int64, radius: Int) -> (x: Int, y: Int) {
        func swing(_ period: Int64, _ room: Int) -> Int {
            let phase = Int(((time % (2 * period)) + 2 * period) % (2 * period))
            let there = phase < Int(period) ? phase : 2 * Int(period) - phase
            return there / 1000 * room / (Int(period) / 1000)
        }
        return (
            radius + swing(4_000_000_000, width - 2 * radius),
            bars.lowerBound + radius + swing(1_300_000_000, bars.count - 2 * radius)
        )
    }
}
