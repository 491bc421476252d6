import Archive
import Media
import MP4

/// The contents of a simulated archive, read with the public readers.
struct ArchiveInspection {
    typealias SampleID = SimulatedCamera.SampleID

    private(set) var samples: [SampleID: Int] = [:]
    /// Files that a reader would refuse.
    private(set) var unplayable: [String] = []
    /// Path of each fragment and the byte range that digests cover.
    private(set) var fragments: [(path: String, media: Range<Int64>)] = []

    /// Reads all files of an archive.
    /// - Parameters:
    ///   - readsMedia: whether samples are identified; otherwise only heads are read.
    ///   - names: the sources to read; nil: all.
    init(_ layout: ArchiveLayout, readsMedia: Bool, of names: Set<String>? = nil) throws {
        for session in try layout.sessionNames() {
            for source in try layout.sourceNames(session)
            where names?.contains(source) ?? true {
                for path in try layout.segmentPaths(session, source) {
                    try read(path, readsMedia: readsMedia)
                }
            }
        }
    }

    private mutating func read(_ path: String, readsMedia: Bool) throws {
        try DescriptorSource.withFile(path) { source in
            do throws(MP4Error) {
                var scanner = try FragmentScanner(source)
                var count = 0
                while let fragment = try scanner.next() {
                    count += 1
                    guard readsMedia else { continue }
                    fragments.append((path, fragment.media))
                    try identify(fragment, source)
                }
                if count == 0 { unplayable.append("\(path): nothing in it") }
                if case .damaged(let error) = scanner.stop {
                    unplayable.append("\(path): \(error)")
                }
                // A finished file also reads as an ordinary MP4.
                if scanner.layout.isFinished { _ = try Movie.read(from: source) }
            } catch {
                unplayable.append("\(path): \(error)")
            }
        }
    }

    /// The error a reader would report behind the last fragment.
    private static func flaw(_ stop: FragmentScanner<DescriptorSource>.Stop?) -> String? {
        guard case .damaged(let error) = stop else { return nil }
        // A power cut may leave a seal half-written, a box of unknown type, which readers skip.
        let halfSealed: [FourCC] = ["mree", "moee", "mooe"]
        if case .invalid(let box, _, "not a fragment") = error, halfSealed.contains(box) {
            return nil
        }
        return "\(error)"
    }

    private mutating func identify(
        _ fragment: ScannedFragment, _ source: DescriptorSource
    ) throws(MP4Error) {
        let media = try source.read(at: fragment.media.lowerBound, count: fragment.media.count)
        for run in fragment.runs {
            for sample in run.samples {
                let start = Int(sample.offset - fragment.media.lowerBound)
                let bytes = media[start..<start + Int(sample.sizeBytes)]
                if let id = SimulatedCamera.identify(bytes, run.track) {
                    samples[id, default: 0] += 1
                } else {
                    unplayable.append(
                        "\(run.track) at byte \(sample.offset) that nobody sent: \(bytes.prefix(12))"
                    )
                }
            }
        }
    }
}
