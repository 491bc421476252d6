package import Media

/// Samples that are left out because parts of them, or of pictures that they depend on, are missing in the file.
package struct FileDamage: Hashable, Sendable {
    package var track: TrackKind
    /// Nanoseconds of the playback clock.
    package var startNanoseconds: Int64
    package var endNanoseconds: Int64
    package var samples: Int
    /// The sample is whole. It belongs before samples that are there already: libavformat delivers the last one of a stream
    /// that ends within the file at the end of the file.
    package var isLate = false

    /// The reason, for the ledger.
    package var text: String { isLate ? Self.late : Self.reason }

    /// The reason of all but late samples.
    package static let reason = "parts of the file are lost: what cannot be decoded is left out"
    private static let late =
        "a stream ends within the file, and libavformat delivers its last sample too late: it is left out"
}

/// Drops damaged samples. Of video, it also drops the following pictures up to the next keyframe, and that keyframe's leading
/// pictures.
struct DamagedPackets {
    private struct Gap {
        var damage: FileDamage
        /// The presentation time of the picture at which decoding began again.
        var resumedNanoseconds: Int64?
    }

    /// Complete and not yet taken, in the order of their ends.
    private var found: [FileDamage] = []
    /// Added to the times of ``FileDamage``: the start of the iteration of a loop.
    var originNanoseconds: Int64 = 0
    private var gaps: [TrackKind: Gap] = [:]

    /// - Parameters:
    ///   - packet: with the file's own times, in decoding order.
    ///   - isDamaged: whether parts of it are missing.
    /// - Returns: whether it can be decoded.
    mutating func isKept(_ packet: CodedPacket, isDamaged: Bool) -> Bool {
        let time = packet.ptsNanoseconds ?? packet.dtsNanoseconds
        let end = time + packet.durationNanoseconds
        guard var gap = gaps[packet.track] else {
            guard isDamaged else { return true }
            gaps[packet.track] = Gap(
                damage: FileDamage(
                    track: packet.track, startNanoseconds: time, endNanoseconds: end, samples: 1))
            return false
        }
        if isDamaged {
            gap.resumedNanoseconds = nil
        } else if packet.track == .audio {
            close(packet.track, gap, at: time)
            return true
        } else if packet.isKeyframe {
            gap.resumedNanoseconds = time
            gaps[packet.track] = gap
            return true
        } else if let resumed = gap.resumedNanoseconds {
            // Pictures that are presented before it reference missing ones.
            if time > resumed {
                close(packet.track, gap, at: resumed)
                return true
            }
        }
        gap.damage.samples += 1
        gap.damage.startNanoseconds = min(gap.damage.startNanoseconds, time)
        gap.damage.endNanoseconds = max(gap.damage.endNanoseconds, end)
        gaps[packet.track] = gap
        return false
    }

    /// Leaves out a packet that comes too late.
    mutating func leaveOut(_ packet: CodedPacket) {
        let start = (packet.ptsNanoseconds ?? packet.dtsNanoseconds) + originNanoseconds
        found.append(
            FileDamage(
                track: packet.track, startNanoseconds: start,
                endNanoseconds: start + packet.durationNanoseconds, samples: 1, isLate: true))
    }

    /// Complete losses since the last call.
    mutating func take() -> [FileDamage] {
        defer { found = [] }
        return found
    }

    /// The file ends.
    mutating func finish() {
        for kind in TrackKind.allCases {
            if let gap = gaps[kind] { close(kind, gap, at: nil) }
        }
    }

    private mutating func close(_ track: TrackKind, _ gap: Gap, at time: Int64?) {
        var damage = gap.damage
        if let time { damage.endNanoseconds = max(damage.startNanoseconds, time) }
        damage.startNanoseconds += originNanoseconds
        damage.endNanoseconds += originNanoseconds
        found.append(damage)
        gaps[track] = nil
    }
}
