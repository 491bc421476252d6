import MP4

/// The timestamps of a session's network cameras, by source.
struct SessionCameras {
    /// The times of the sources whose times follow their camera's timestamps.
    private(set) var times: [String: CameraTimes] = [:]
    /// One line for each track with samples that keep their times.
    private(set) var problems: [String] = []

    init(
        _ sources: [CollectorClocks.Source], in layout: ArchiveLayout, _ session: String
    ) throws(ArchiveError) {
        for source in sources {
            problems += source.camera.problems(source.name)
            guard source.camera.isUsable else { continue }
            var camera = source.camera
            for path in try layout.segmentPaths(session, source.name).reversed() {
                let evidence = try withEvidence(path) { _, evidence throws(MP4Error) in evidence }
                camera.prepare(evidence, path: path)
            }
            times[source.name] = camera
        }
    }

    /// Leaves a source as it is without its camera's timestamps, because times by them are impossible.
    /// - Returns: whether it had any.
    mutating func leaveOut(_ source: String, _ error: ArchiveError) -> Bool {
        guard times.removeValue(forKey: source) != nil else { return false }
        problems.append("\(source): the camera's timestamps are not used: \(error.reason)")
        return true
    }
}
