import Media

/// Bit rates of a playlist (RFC 8216 §4.3.4.2).
package struct Bandwidth: Hashable, Sendable {
    /// Media of one piece: a segment, or a file.
    package struct Piece: Hashable, Sendable {
        package var sizeBytes: Int64
        package var durationNanoseconds: Int64

        package init(sizeBytes: Int64, durationNanoseconds: Int64) {
            self.sizeBytes = sizeBytes
            self.durationNanoseconds = durationNanoseconds
        }
    }

    /// More than any network has: a damaged file may have any times.
    private static let maximumBitsPerSecond = 1e15
    /// Maximum number of pieces in a bit rate.
    private static let maximumPieces = 64

    /// `BANDWIDTH`: the peak segment bit rate.
    package var peakBitsPerSecond: Int64
    /// `AVERAGE-BANDWIDTH`: the average segment bit rate.
    package var averageBitsPerSecond: Int64

    package init(peakBitsPerSecond: Int64, averageBitsPerSecond: Int64) {
        self.peakBitsPerSecond = peakBitsPerSecond
        self.averageBitsPerSecond = averageBitsPerSecond
    }

    /// The peak is the largest bit rate of pieces that follow each other and last from half to one and a half target durations
    /// together (RFC 8216 §4.1). Otherwise, as with whole files, it is the largest of a single piece.
    /// - Parameter pieces: in the order of time.
    /// - Returns: nil without any media.
    package init?(_ pieces: [Piece], targetSeconds: Int64) {
        let target = targetSeconds.clampedMultiplied(by: 1_000_000_000)
        var total = Piece(sizeBytes: 0, durationNanoseconds: 0)
        var peak = 0.0
        var single = 0.0
        for (first, piece) in pieces.enumerated() {
            total.add(piece)
            single = max(single, piece.bitsPerSecond ?? 0)
            var sum = Piece(sizeBytes: 0, durationNanoseconds: 0)
            for next in pieces[first...].prefix(Self.maximumPieces) {
                sum.add(next)
                guard sum.durationNanoseconds <= target.clampedAdding(target / 2) else { break }
                if sum.durationNanoseconds >= target / 2 {
                    peak = max(peak, sum.bitsPerSecond ?? 0)
                }
            }
        }
        guard let average = total.bitsPerSecond else { return nil }
        averageBitsPerSecond = Self.whole(average)
        peakBitsPerSecond = max(averageBitsPerSecond, Self.whole(peak > 0 ? peak : single))
    }

    package init?(_ segments: [MediaSegment], targetSeconds: Int64) {
        self.init(
            segments.map {
                Piece(
                    sizeBytes: $0.range.upperBound - $0.range.lowerBound,
                    durationNanoseconds: $0.durationNanoseconds)
            }, targetSeconds: targetSeconds)
    }

    private static func whole(_ bitsPerSecond: Double) -> Int64 {
        Int64(min(bitsPerSecond, maximumBitsPerSecond).rounded(.up))
    }
}

extension Bandwidth.Piece {
    fileprivate mutating func add(_ other: Bandwidth.Piece) {
        sizeBytes.addClamped(max(0, other.sizeBytes))
        durationNanoseconds.addClamped(max(0, other.durationNanoseconds))
    }

    /// Nil without a duration.
    fileprivate var bitsPerSecond: Double? {
        guard durationNanoseconds > 0 else { return nil }
        return Double(sizeBytes) * 8e9 / Double(durationNanoseconds)
    }
}
