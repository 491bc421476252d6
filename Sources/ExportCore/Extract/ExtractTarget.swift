/// The destination of an extraction.
package enum ExtractTarget {
    /// A file that appears when it is complete.
    case file(OutputFile)
    /// Standard output.
    case standardOutput

    func open() throws -> ByteFile {
        switch self {
        case .file(let output):
            try ByteFile(creating: output.temporaryPath, named: output.path)
        case .standardOutput: ByteFile(descriptor: 1, named: "standard output")
        }
    }

    /// Flushes the output, and renames a file to its final name.
    func close(_ file: ByteFile) throws {
        try file.flush()
        if case .file(let output) = self { try output.commit() }
    }

    /// Whether written bytes can be overwritten.
    var isSeekable: Bool {
        switch self {
        case .file: true
        case .standardOutput: false
        }
    }
}
