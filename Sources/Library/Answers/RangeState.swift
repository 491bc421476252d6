package import Archive
package import Recordings

extension RecordingLibrary {
    /// See ``RecordedSource/state(from:until:remembering:)``.
    package func state(
        of source: SourceKey, from: Int64?, until: Int64?, remembering memory: FileStateMemory
    ) throws(ArchiveError) -> Digest {
        // A listing of several archives does not show changes of a file's copies.
        try RecordedSource(
            source, in: store, zero: manifest(source.session).zeroTime, segmentNanoseconds: 0
        ).state(from: from, until: until, remembering: merged == nil ? memory : nil)
    }
}
