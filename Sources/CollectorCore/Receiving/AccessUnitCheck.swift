import Media
import Wire

/// Checks the structure of received pictures, so that no file contains one that readers could not parse.
enum AccessUnitCheck {
    /// The first flaw in a message's access units, in one line; nil if there is none.
    ///
    /// Only the lengths of the NAL units are read (ISO/IEC 14496-15 §5.3.3): a few bytes per picture. The payload has
    /// the length that the runs declare; the link has checked that.
    static func flaw(in samples: Samples, payload: UnsafeRawBufferPointer) -> String? {
        var offset = 0
        var sequence = samples.firstSequence
        for run in samples.runs {
            for size in run.sizes {
                let end = offset + Int(size)
                if run.track == .video {
                    let unit = UnsafeRawBufferPointer(rebasing: payload[offset..<end])
                    do throws(BitstreamError) {
                        _ = try nalUnitCount(in: unit.assumingMemoryBound(to: UInt8.self).span)
                    } catch {
                        return "record \(sequence): \(error)"
                    }
                }
                offset = end
                sequence += 1
            }
        }
        return nil
    }

    /// The samples with correct keyframe flags: an agent's flag is removed if the bitstream has no access point there
    /// (``AccessPoint``). Otherwise a file or a reader could start with pictures that do not decode.
    ///
    /// A gradual access point is one where the pictures until the decoder has recovered are marked as never presented.
    /// Only flagged pictures are checked. The access units are known to be whole.
    ///
    /// - Parameter codec: of the pictures; nil without a video track.
    static func withTrueKeyframes(
        _ samples: Samples, payload: UnsafeRawBufferPointer, codec: VideoCodec?
    ) -> Samples {
        guard let codec else { return samples }
        var result = samples
        var offset = 0
        for (number, run) in samples.runs.enumerated() {
            let start = offset
            offset += run.sizeBytes
            // Only the first picture of a run may be flagged.
            guard run.track == .video, let size = run.sizes.first,
                run.flags(at: 0).contains(.keyframe)
            else { continue }
            let unit = UnsafeRawBufferPointer(rebasing: payload[start..<start + Int(size)])
            let isTrue: Bool
            do throws(BitstreamError) {
                let picture = try CodedPicture(
                    of: unit.assumingMemoryBound(to: UInt8.self).span, codec)
                switch picture.accessPoint {
                case .sync: isTrue = true
                case .gradual: isTrue = run.flags(at: 0).contains(.priming)
                case .none: isTrue = false
                }
            } catch {
                isTrue = false
            }
            if !isTrue { result.runs[number].flags[0].remove(.keyframe) }
        }
        return result
    }
}
