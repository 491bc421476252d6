import Archive
import ArgumentParser
import Hashing
import JSON
import Media
import MP4
import Terminal

/// `tributary inspect`: a file's boxes, for debugging.
struct InspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Prints the box tree of any MP4 file, with offsets and fields.")

    @Argument(help: "MP4 file.")
    var file: String

    @Flag(help: "Also show the fragments inside the mdat box of a finished recording.")
    var fragments = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        guard NamedPath.exists(file) else { throw Failure("no file '\(file)'") }
        if NamedPath.isDirectory(file) {
            throw Failure("'\(file)' is a directory: give one of the files in it")
        }
        do {
            try FileSystem.withFile(NamedPath.resolved(file)) { source in
                let tree = try BoxTree(of: source, entersMediaData: fragments)
                if json {
                    try JSONOutput.print(
                        InspectedTree(
                            boxes: tree.boxes.map { InspectedBox($0, source) },
                            damage: tree.damage.map { "\($0)" }))
                } else {
                    for box in tree.boxes { show(InspectedBox(box, source), depth: 0) }
                    if let damage = tree.damage { print("damage: \(damage)") }
                }
                if tree.boxes.isEmpty {
                    throw Failure("\(file) is not an MP4 file: it has no boxes")
                }
            }
        } catch let error as ArchiveError {
            throw Failure("\(error)")
        } catch let error as MP4Error {
            throw Failure("cannot inspect \(file): \(error)")
        }
    }

    private func show(_ box: InspectedBox, depth: Int) {
        let indent = String(repeating: "  ", count: depth)
        print("\(indent)\(box.type) at \(box.offset), \(box.sizeBytes) bytes")
        for field in box.fields { print("\(indent)    \(field.name): \(field.text)") }
        if let damage = box.damage { print("\(indent)    damage: \(damage)") }
        for child in box.children { show(child, depth: depth + 1) }
    }
}

/// A tree for printing.
private struct InspectedTree: Encodable {
    var boxes: [InspectedBox]
    var damage: String?
}

/// A box for printing.
struct InspectedBox: Encodable {
    struct Field: Encodable {
        var name: String
        var text: String

        private enum CodingKeys: String, CodingKey {
            case name
            case text = "value"
        }
    }

    var type: String
    var offset: Int64
    var sizeBytes: Int64
    var fields: [Field]
    var children: [InspectedBox]
    var damage: String?

    /// A box of the tree; Tributary's own boxes are parsed.
    init(_ node: BoxNode, _ source: DescriptorSource) {
        type = oneLine("\(node.type)")
        offset = node.offset
        sizeBytes = node.sizeBytes
        fields = node.fields.map { Field(name: $0.name, text: Self.text($0.value)) }
        damage = node.damage.map { "\($0)" }
        children = node.children.map { InspectedBox($0, source) }
        if let userType = node.userType {
            fields.insert(Field(name: "usertype", text: ByteText.hexadecimal(userType)), at: 0)
            if userType == FragmentRecord.userType { describeRecord(node, source) }
        }
    }

    private mutating func describeRecord(_ node: BoxNode, _ source: DescriptorSource) {
        let header = node.headerSizeBytes
        let record: FragmentRecord
        do {
            let payload = try source.read(
                at: node.offset + header, count: Int(node.sizeBytes - header))
            record = try FragmentRecord(parsing: payload)
        } catch {
            damage = "\(error)"
            return
        }
        fields = [
            Field(
                name: "fragment record",
                text: record.collectorZeroNanoseconds == nil ? "version 1" : "version 2"),
            Field(name: "spool", text: record.spool.description),
            Field(name: "epoch", text: record.epoch.description),
            Field(name: "clock offset", text: "\(record.clock.offsetNanoseconds) ns"),
            Field(name: "clock bound", text: "\(record.clock.boundNanoseconds) ns"),
            Field(name: "clock skew", text: "\(record.clock.skewPartsPerBillion) ppb"),
            Field(name: "session zero", text: "\(record.sessionZero)"),
            Field(name: "clock exchanges", text: "\(record.exchanges.count)"),
            Field(name: "segment origin", text: "\(record.segmentOriginNanoseconds) ns"),
            Field(name: "chain", text: "\(record.chain)"),
        ]
        for piece in record.pieces {
            let runs = piece.runs.map { run in
                "\(run.track) \(run.firstSequence)+\(run.samples) from \(run.firstDTSNanoseconds) ns"
                    + (run.camera.map { ", \(Self.text($0))" } ?? "")
            }
            fields.append(
                Field(
                    name: "piece",
                    text: "\(piece.sizeBytes) bytes, \(runs.joined(separator: ", ")), SHA-256 "
                        + "\(piece.digest) from the \(piece.digestOrigin)"))
        }
    }

    private static func text(_ camera: CameraStamps) -> String {
        let timestamps = camera.stamps.first.map { "RTP \($0.timestamp)" } ?? "RTP"
        let packets = camera.stamps.reduce(0) { $0 + Int($1.packets) }
        let reports = camera.reports.map { " report \($0.timestamp) = NTP \($0.ntp)" }
        return "\(timestamps) at \(camera.clockRate) Hz, \(packets) packets" + reports.joined()
    }

    private static func text(_ value: BoxValue) -> String {
        switch value {
        case .integer(let number): return "\(number)"
        case .unsigned(let number): return "\(number)"
        case .text(let text): return oneLine(text)
        case .bytes(let bytes):
            let shown = ByteText.hexadecimal(bytes.prefix(32))
            return bytes.count > 32 ? "\(shown)… (\(bytes.count) bytes)" : shown
        case .table(let count, let columns, let first):
            let rows = first.map { row in
                "(" + row.map { "\($0)" }.joined(separator: ", ") + ")"
            }
            let more = UInt64(first.count) < count ? " …" : ""
            return "\(count) × (\(columns.joined(separator: ", "))): "
                + rows.joined(separator: " ") + more
        }
    }
}
