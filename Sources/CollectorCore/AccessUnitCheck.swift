import Media
import Wire

/// Looks at the inside of received pictures, so that nothing goes into a file that no reader could take apart.
enum AccessUnitCheck {
    /// What is wrong with a message's access units, in one line; nil when nothing is.
    ///
    /// Only the lengths of the NAL units are read: a few bytes per picture.
    /// - Parameter payload: as long as the runs say, which the link has checked.
    static func flaw(in samples: Samples, payload: UnsafeRawBufferPointer) -> String? {
        var offset = 0
        var sequence = samples.firstSequence
        for run in samples.runs {
            for size in run.sizes {
                let end = offset + Int(size)
                if run.track == .video {
                    let unit = UnsafeRawBufferPointer(rebasing: payload[offset..<end])
                    if let flaw = flaw(in: unit) { return "record \(sequence): \(flaw)" }
                }
                offset = end
                sequence += 1
            }
        }
        return nil
    }

    /// Walks the 4-byte lengths of one access unit (ISO/IEC 14496-15 §5.3.3.1).
    private static func flaw(in unit: UnsafeRawBufferPointer) -> String? {
        var offset = 0
        while offset < unit.count {
            guard unit.count - offset >= 4 else {
                return "\(unit.count - offset) bytes after the last NAL unit"
            }
            let length = Int(
                UInt32(bigEndian: unit.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            offset += 4
            guard length > 0 else { return "a NAL unit of length 0" }
            guard length <= unit.count - offset else {
                return "a NAL unit of \(length) bytes where \(unit.count - offset) are left"
            }
            offset += length
        }
        return nil
    }
}
