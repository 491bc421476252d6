import Files
import Media
import Spooling
import Wire

/// A spool with records of a source that no agent sends: the source was removed from the configuration, or renamed.
package struct UnclaimedSpool: Hashable, Sendable {
    /// The source's directory.
    package var path: String
    package var sizeBytes: Int

    /// The source's name.
    var source: String { Path.name(of: path) }

    /// - Returns: nil without records, or if the directory is not readable or is in use.
    init?(path: String) {
        self.path = path
        guard ReadOnlyDirectory.holdsSpool(path), !DirectoryStorage.isInUse(path) else {
            return nil
        }
        do throws(SpoolError) {
            let directory = try ReadOnlyDirectory(path: path)
            sizeBytes = 0
            for name in try directory.names() { sizeBytes += try directory.sizeBytes(of: name) }
        } catch {
            // An agent has started, and deletes files.
            return nil
        }
        if sizeBytes == 0 { return nil }
    }

    /// The spools in a directory of spools, by name. Nothing is changed.
    /// - Parameters:
    ///   - directory: has a subdirectory for each source.
    ///   - sources: the configured sources, with their previews.
    package static func all(in directory: String, except sources: [String]) -> [UnclaimedSpool] {
        let known = Set(sources)
        let names = Directory.names(in: directory) { SourceName.isValid($0) && !known.contains($0) }
        return (names ?? []).sorted().compactMap { UnclaimedSpool(path: "\(directory)/\($0)") }
    }

    /// One line for the log, with what to do.
    package var line: String {
        "\(path) has \(byteText(sizeBytes)) of the source \(source), which is not configured: "
            + "'tributary-agent --source \(source) …' sends them"
    }
}
