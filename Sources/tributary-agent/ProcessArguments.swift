import Glibc

/// This process's arguments as other programs see them (`ps`).
enum ProcessArguments {
    /// Fields of proc(5)'s stat after the program's name: addresses of the arguments' start and end.
    private static let (startField, endField) = (45, 46)

    /// Overwrites a secret argument in the memory that the kernel shows. It was visible before.
    static func hide(_ secret: String) {
        guard let (start, end) = range(), start < end,
            let memory = UnsafeMutableRawPointer(bitPattern: start)
        else { return }
        let arguments = UnsafeMutableRawBufferPointer(start: memory, count: Int(end - start))
        let wanted = Array(secret.utf8)
        guard !wanted.isEmpty, wanted.count <= arguments.count else { return }
        for offset in 0...(arguments.count - wanted.count)
        where arguments[offset] == wanted[0]
            && arguments[offset..<(offset + wanted.count)].elementsEqual(wanted)
        {
            for index in offset..<(offset + wanted.count) { arguments[index] = UInt8(ascii: "x") }
        }
    }

    private static func range() -> (start: UInt, end: UInt)? {
        let file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        // The name, in parentheses, may have spaces and parentheses itself.
        guard let name = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: name)...].split { $0 == " " || $0 == "\n" }
        guard fields.count > endField, let start = UInt(fields[startField]),
            let end = UInt(fields[endField])
        else { return nil }
        return (start, end)
    }
}
