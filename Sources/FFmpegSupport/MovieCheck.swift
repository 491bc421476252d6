import Files
import Glibc
import Media
import MP4

/// A check of an MP4's boxes: libavformat ends at the first invalid one without an error, and believes tables that
/// contradict each other.
struct MovieCheck {
    /// Bytes that replace the file's own, so that libavformat continues after damage.
    private(set) var patches: [InputPatch] = []
    /// The places with lost media; nil: none.
    private(set) var losses: FragmentLosses?
    /// Zeros at the end of the file.
    private(set) var zeroBytes: Int64 = 0
    /// Why the file cannot be read as one movie.
    private(set) var refusal: String?
    /// Samples by track, as its tables and fragments state them.
    private(set) var samples: [UInt32: StatedSamples.Track] = [:]
    /// Whether the tables of other tracks are not found.
    private(set) var isIncomplete = false

    /// - Parameter descriptor: the open file.
    init(descriptor: Int32) {
        do throws(MP4Error) {
            let source = try DescriptorSource(descriptor: descriptor)
            let stated = try StatedSamples(of: source)
            for track in stated.tracks { samples[track.id] = track }
            isIncomplete = stated.isIncomplete
            try checkMovies(source)
        } catch {
            // libavformat reports what it cannot read either.
            return
        }
    }

    private mutating func checkMovies(_ source: DescriptorSource) throws(MP4Error) {
        let movie = try Movie.read(from: source)
        guard movie.isFragmented else {
            var boxes = BoxReader(source)
            while let box = try boxes.next() {
                if box.type == "moov", box.offset > movie.header.offset {
                    refusal = Self.second(box.offset)
                    return
                }
            }
            return
        }
        var walk = FragmentWalk(source, movie: movie)
        var ends: [UInt32: UInt64] = [:]
        var second: Int64?
        var lost: [Range<Int64>] = []
        var last: FourCC?
        while let step = try walk.next() {
            switch step {
            case .box(let box):
                last = box.type
                if box.type == "moov", box.offset > movie.header.offset {
                    second = second ?? box.offset
                    let own = try source.read(
                        at: movie.header.offset, count: Int(movie.header.sizeBytes))
                    guard box.sizeBytes == movie.header.sizeBytes,
                        try source.read(at: box.offset, count: own.count) == own
                    else {
                        refusal = Self.second(box.offset)
                        return
                    }
                }
            case .fragment(let fragment):
                for run in fragment.runs {
                    samples[run.trackID]?.count += run.sizesBytes.count { $0 > 0 }
                }
                for (track, time) in fragment.startTimes {
                    // A description that is repeated among the fragments of one stream does no harm.
                    if let second, let end = ends[track], time <= end {
                        refusal = Self.second(second)
                        return
                    }
                    ends[track] = max(ends[track] ?? 0, time)
                }
            case .damage(let range, _)
            where last == "mfra" && range.upperBound == source.sizeBytes:
                // `mfra` is the last box, and its index covers all fragments: nothing is lost after it.
                break
            case .damage(let range, let type):
                lost.append(range)
                patches.append(InputPatch(covering: range, isMedia: type == "mdat"))
            case .torn: break
            case .zeros(let range):
                zeroBytes = range.upperBound - range.lowerBound
            }
        }
        if !lost.isEmpty { losses = FragmentLosses(lost) }
    }

    private static func second(_ place: Int64) -> String {
        "a second movie begins at byte \(place): divide the file there (head -c \(place), tail -c +\(place + 1))"
    }
}

/// Bytes that replace a file's own.
struct InputPatch {
    let offset: Int64
    let bytes: [UInt8]

    var end: Int64 { offset + Int64(bytes.count) }

    /// The header of a box that fills `range`.
    init(covering range: Range<Int64>, isMedia: Bool) {
        offset = range.lowerBound
        let size = UInt64(range.upperBound - range.lowerBound)
        let type = Array((isMedia ? "mdat" : "free").utf8)
        if let short = UInt32(exactly: size) {
            bytes = Self.bigEndian(short) + type
        } else {
            bytes = Self.bigEndian(UInt32(1)) + type + Self.bigEndian(size)
        }
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}

/// Parts of a fragmented MP4 whose content is lost, or cannot be trusted.
struct FragmentLosses: ContainerLosses {
    /// Ascending.
    private let ranges: [Range<Int64>]
    /// Lost bytes before each of ``ranges``.
    private let before: [Int]

    init(_ ranges: [Range<Int64>]) {
        self.ranges = ranges
        var sum = 0
        before = ranges.map { range in
            defer { sum += Int(range.upperBound - range.lowerBound) }
            return sum
        }
    }

    /// Lost bytes before a position: each packet within a range has more than the one before.
    func count(stream: Int, before position: Int64) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].lowerBound < position { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return 0 }
        let range = ranges[low - 1]
        return before[low - 1] + Int(min(position, range.upperBound) - range.lowerBound)
    }

    func total(streams: [Int]) -> Int { count(stream: 0, before: .max) }
}
