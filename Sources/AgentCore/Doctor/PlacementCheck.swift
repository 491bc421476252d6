import Media
import Spooling
import Wire

/// The last collector of a source, and the locations of its records, according to its spool.
enum PlacementCheck {
    /// - Returns: nil: no records of an earlier run are left.
    static func look(at uplink: UplinkSettings) -> Diagnosis? {
        guard let path = uplink.spool?.path, ReadOnlyDirectory.holdsSpool(path) else { return nil }
        do throws(SpoolError) {
            let directory = try ReadOnlyDirectory(path: path)
            guard let bytes = try directory.readNote(limitBytes: CollectorNote.maximumBytes + 1)
            else { return nil }
            var keptBytes = 0
            for name in try directory.names() { keptBytes += try directory.sizeBytes(of: name) }
            guard let note = CollectorNote(bytes) else {
                return Diagnosis(
                    "source", .warning,
                    "what \(path) keeps of the collectors is damaged: records may be sent again")
            }
            return judge(note, keptBytes: keptBytes, collectors: uplink.collectors)
        } catch {
            return Diagnosis("source", .warning, "cannot read what was sent where: \(error)")
        }
    }

    /// - Parameters:
    ///   - keptBytes: size of the spool.
    ///   - collectors: the endpoints that are configured.
    /// - Returns: nil: there has been only one collector.
    static func judge(
        _ note: CollectorNote, keptBytes: Int, collectors: [String]
    ) -> Diagnosis? {
        guard !note.endpoint.isEmpty, note.term > 1 || collectors.count > 1 else { return nil }
        func named(_ name: String, _ endpoint: String) -> String {
            name.isEmpty ? endpoint : "\(name) (\(endpoint))"
        }
        var text = "last sent to \(named(note.name, note.endpoint))"
        if !note.mirror.isEmpty { text += " and \(named(note.mirrorName, note.mirror))" }
        text += ", term \(note.term); \(byteText(keptBytes)) kept in the spool"
        var held: [String: UInt64] = [:]
        for range in note.held.values.joined() {
            held[range.collector, default: 0].addClamped(
                range.sequences.upperBound - range.sequences.lowerBound + 1)
        }
        for (collector, records) in held.sorted(by: { $0.key < $1.key }) {
            text += "; \(records) records are held by \(collector) only"
        }
        let gone = [note.endpoint, note.mirror].filter { !$0.isEmpty && !collectors.contains($0) }
        guard !gone.isEmpty else { return Diagnosis("source", .ok, text) }
        return Diagnosis(
            "source", .warning,
            "\(text); \(gone.joined(separator: " and ")) is not in --collector any more: keep its archive, which has what "
                + "it acknowledged")
    }
}
