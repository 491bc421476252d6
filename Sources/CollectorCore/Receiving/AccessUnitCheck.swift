import Media
import Wire

/// Checks the structure of received pictures, so that no file contains one that readers could not parse.
enum AccessUnitCheck {
    /// What is wrong with a message's access units, in one line; nil when nothing is.
    ///
    /// Only the lengths of the NAL units are read (ISO/IEC 14496-15 §5.3.3): a few bytes per picture. The payload has the length
    /// that the runs declare; the link has checked that.
    static func flaw(in samples: Samples, payload: UnsafeRawBufferPointer) -> String? {
        var offset = 0
        var sequence = samples.firstSequence
        for run in samples.runs {
            for size in run.sizes {
                let end = offset + Int(size)
                if run.track == .video {
                    let unit = UnsafeRawBufferPointer(rebasing: payload[offset..<end])
                    do throws(BitstreamError) {
                        _ = try AccessUnitSummary(of: unit.assumingMemoryBound(to: UInt8.self).span)
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
}
