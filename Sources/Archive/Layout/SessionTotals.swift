import Media
import MP4

/// The content of a session's files, counted from their indices: no media is read.
package struct SessionTotals: Hashable, Sendable {
    package struct Source: Hashable, Sendable {
        package var name: String
        package var pictures: UInt64 = 0
        package var soundPackets: UInt64 = 0
        package var payloadBytes: UInt64 = 0
        /// Missing samples according to the ledger.
        package var lostSamples: UInt64 = 0
    }

    /// By name.
    package private(set) var sources: [Source] = []

    /// Counts a finished session.
    /// - Throws: when a file or a ledger cannot be read.
    package init(of session: String, in layout: ArchiveLayout) throws(ArchiveError) {
        for name in try layout.sourceNames(session) {
            var source = Source(name: name)
            for path in try layout.segmentPaths(session, name) {
                try Self.count(path, into: &source)
            }
            let ledger = layout.ledger(session, name)
            if FileSystem.exists(ledger) {
                for entry in try Ledger.read(ledger).entries where entry.kind == .gap {
                    source.lostSamples.addClamped(entry.samples ?? 0)
                }
            }
            sources.append(source)
        }
    }

    private static func count(_ path: String, into source: inout Source) throws(ArchiveError) {
        let movie: Movie
        do {
            movie = try FileSystem.withFile(path) { try Movie.read(from: $0) }
        } catch let error as ArchiveError {
            throw error
        } catch {
            throw .malformed(path: path, reason: "cannot be counted: \(error)")
        }
        for track in movie.tracks {
            guard let kind = track.kind else { continue }
            let samples = UInt64(track.samples.count)
            switch kind {
            case .video: source.pictures += samples
            case .audio: source.soundPackets += samples
            }
            source.payloadBytes += track.samples.sizesBytes.reduce(0) { $0 + UInt64($1) }
        }
    }
}
