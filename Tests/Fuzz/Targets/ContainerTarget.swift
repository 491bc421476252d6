import FFmpegSupport
import Glibc

/// A container's bytes: places of loss are found in ascending order, and each query ends.
enum ContainerTarget {
    private static let formats = ["mpegts", "flv", "matroska,webm"]

    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        let format = formats[Int(input.byte()) % formats.count]
        let stream = Int(input.number())
        let positions = (0..<4).map { _ in Int64(input.number()) }
        let content = input.block()
        let descriptor = unnamedFile()
        defer { close(descriptor) }
        precondition(content.isEmpty || write(descriptor, content, content.count) == content.count)
        guard var losses = containerLosses(format: format, descriptor: descriptor) else { return }
        let counts = positions.map { losses.count(stream: stream, before: $0) }
        for (position, count) in zip(positions, counts) {
            precondition(count >= 0 && count <= content.count)
            for (other, earlier) in zip(positions, counts) where other <= position {
                precondition(earlier <= count, "losses disappear")
            }
            _ = losses.stream(at: position)
        }
        let streams = losses.elementaryStreams()
        precondition(losses.total(streams: [stream]) >= counts.max() ?? 0)
        for stream in streams.keys { _ = losses.isStream(stream, after: Int(input.number())) }
        precondition(losses.unlisted([]).count == streams.count)
    }

    /// A file without a name, in memory where possible.
    private static func unnamedFile() -> Int32 {
        let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var name = Array("\(folder)/tributary-container-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        precondition(descriptor >= 0 && unlink(name) == 0)
        return descriptor
    }

    /// An FLV file with a damaged tag size, and a Matroska file with a damaged block; two packets of a transport stream.
    static var seeds: [String: [UInt8]] {
        func script(_ format: UInt8, _ stream: UInt16, _ content: [UInt8]) -> [UInt8] {
            var writer = InputWriter()
            writer.byte(format)
            writer.number(stream)
            for position in [10, 40, 90, 400] as [UInt16] { writer.number(position) }
            writer.block(content)
            return writer.bytes
        }
        return [
            "transport": script(0, 0x100, transport), "flv": script(1, 9, flv),
            "matroska": script(2, 1, matroska),
        ]
    }

    /// Five packets of a video stream, whose continuity counter skips one.
    private static var transport: [UInt8] {
        ([0, 1, 3, 4, 5] as [UInt8]).flatMap { counter -> [UInt8] in
            let isFirst = counter == 0
            let head: [UInt8] = [0x47, isFirst ? 0x41 : 0x01, 0x00, 0x10 | counter]
            let start: [UInt8] = isFirst ? [0, 0, 1, 0xE0, 0, 0, 0x80, 0, 0] : []
            return head + start + [UInt8](repeating: 0xAA, count: 184 - start.count)
        }
    }

    private static var flv: [UInt8] {
        var bytes: [UInt8] = [0x46, 0x4C, 0x56, 1, 5, 0, 0, 0, 9, 0, 0, 0, 0]
        for (index, type) in ([18, 9, 8, 9, 9] as [UInt8]).enumerated() {
            let size: UInt8 = 8
            // The third tag states a size that is too large.
            bytes += [type, 0, 0, index == 2 ? 200 : size, 0, 0, UInt8(index), 0, 0, 0, 0]
            bytes += [UInt8](repeating: 0x17, count: Int(size)) + [0, 0, 0, size + 11]
        }
        return bytes
    }

    private static var matroska: [UInt8] {
        let header: [UInt8] = [0x1A, 0x45, 0xDF, 0xA3, 0x80]
        let segment: [UInt8] = [
            0x18, 0x53, 0x80, 0x67, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        ]
        let block: [UInt8] = [0xA3, 0x86, 0x81, 0, 0, 0x80, 0x55, 0x55]
        // The second block states a size beyond its cluster's.
        let damaged: [UInt8] = [0xA3, 0xC6, 0x81, 0, 0, 0x80, 0x55, 0x55]
        func cluster(_ blocks: [UInt8]...) -> [UInt8] {
            let content = [0xE7, 0x81, 0x00] + Array(blocks.joined())
            return [0x1F, 0x43, 0xB6, 0x75, 0x80 | UInt8(content.count)] + content
        }
        return header + segment + cluster(block, damaged, block) + cluster(block, block)
    }
}
