import Glibc
import Media

/// A colour in limited-range Y′CbCr.
struct Colour {
    let y: UInt8
    let cb: UInt8
    let cr: UInt8

    static let black = Colour(y: 16, cb: 128, cr: 128)
    static let white = Colour(y: 235, cb: 128, cr: 128)
    static let slate = Colour(y: 44, cb: 128, cr: 128)
    static let amber = Colour(y: 180, cb: 44, cr: 150)
    /// From warm to cold.
    static let bars = [
        Colour(y: 70, cb: 110, cr: 200), Colour(y: 110, cb: 80, cr: 180),
        Colour(y: 150, cb: 60, cr: 150), Colour(y: 140, cb: 80, cr: 110),
        Colour(y: 120, cb: 110, cr: 80), Colour(y: 105, cb: 150, cr: 80),
        Colour(y: 80, cb: 180, cr: 110), Colour(y: 60, cb: 180, cr: 140),
    ]
}

extension PictureBuffer {
    /// Fills a rectangle of the luma plane.
    func fillLuma(columns: Range<Int>, rows: Range<Int>, with value: UInt8) {
        fill(plane: 0, columns: columns, rows: rows, with: value)
    }

    /// Fills a rectangle whose sides are even.
    func fill(columns: Range<Int>, rows: Range<Int>, with colour: Colour) {
        fill(plane: 0, columns: columns, rows: rows, with: colour.y)
        let halfColumns = columns.lowerBound / 2..<columns.upperBound / 2
        let halfRows = rows.lowerBound / 2..<rows.upperBound / 2
        fill(plane: 1, columns: halfColumns, rows: halfRows, with: colour.cb)
        fill(plane: 2, columns: halfColumns, rows: halfRows, with: colour.cr)
    }

    /// Fills a rectangle of one plane, in that plane's own pixels.
    func fill(plane index: Int, columns: Range<Int>, rows: Range<Int>, with value: UInt8) {
        let plane = planes[index]
        for row in rows {
            memset(
                plane.baseAddress + row * plane.bytesPerRow + columns.lowerBound, Int32(value),
                columns.count)
        }
    }
}

/// A filled circle, as one span per row.
struct Disc {
    let radius: Int
    /// Half the width of each row of the luma plane, from −radius to radius; the chroma planes use every other one.
    private let halfWidths: [Int]

    init(radius: Int) {
        self.radius = radius
        halfWidths = (-radius...radius).map { y in
            Int((Double(radius * radius - y * y)).squareRoot())
        }
    }

    func paint(at centre: (x: Int, y: Int), into buffer: PictureBuffer) {
        for (row, half) in halfWidths.enumerated() {
            let y = centre.y - radius + row
            guard (0..<buffer.height).contains(y) else { continue }
            let columns = max(0, centre.x - half)..<min(buffer.width, centre.x + half)
            buffer.fill(plane: 0, columns: columns, rows: y..<y + 1, with: Colour.amber.y)
            guard y % 2 == 0 else { continue }
            let halved = columns.lowerBound / 2..<columns.upperBound / 2
            buffer.fill(plane: 1, columns: halved, rows: y / 2..<y / 2 + 1, with: Colour.amber.cb)
            buffer.fill(plane: 2, columns: halved, rows: y / 2..<y / 2 + 1, with: Colour.amber.cr)
        }
    }

    /// Restores the background at the disc's position.
    func erase(at centre: (x: Int, y: Int), from buffer: PictureBuffer, background: PictureBuffer) {
        for index in 0..<3 {
            let shift = index == 0 ? 0 : 1
            let plane = buffer.planes[index]
            let left = max(0, centre.x - radius) >> shift
            let right = min(buffer.width, centre.x + radius + 1) >> shift
            let top = max(0, centre.y - radius) >> shift
            let bottom = min(buffer.height - 1, centre.y + radius) >> shift
            for row in top...bottom {
                let offset = row * plane.bytesPerRow + left
                memcpy(
                    plane.baseAddress + offset, background.planes[index].baseAddress + offset,
                    right - left)
            }
        }
    }
}

/// Times in the test pattern, ASCII.
enum TimeText {
    /// "2026-11-20 22:40:00.000".
    static func utc(nanoseconds: Int64) -> [UInt8] {
        let time = CivilTime(nanosecondsSince1970: nanoseconds)
        let milliseconds = (nanoseconds - time.secondsSince1970 * 1_000_000_000) / 1_000_000
        return Array("\(time.date) \(time.clock)".utf8)
            + padded(milliseconds, digits: 3, prefix: ".")
    }

    /// "T 0012345.678901": seconds of the monotonic clock.
    static func seconds(nanoseconds: Int64) -> [UInt8] {
        let seconds = nanoseconds.flooredQuotient(1_000_000_000)
        return padded(seconds, digits: 7, prefix: "T ")
            + padded((nanoseconds - seconds * 1_000_000_000) / 1000, digits: 6, prefix: ".")
    }

    /// `prefix` and the number with leading zeros, truncated to its last digits.
    static func padded(_ number: Int64, digits: Int, prefix: String = "") -> [UInt8] {
        var result = Array(prefix.utf8)
        let start = result.count
        var rest = number.magnitude
        for _ in 0..<digits {
            result.insert(UInt8(ascii: "0") + UInt8(rest % 10), at: start)
            rest /= 10
        }
        return result
    }
}
