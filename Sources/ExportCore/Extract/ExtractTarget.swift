/// Where an extraction goes.
package enum ExtractTarget {
    /// A file that appears when it is whole.
    case file(OutputFile)
    /// Standard output.
    case standardOutput

    /// Opens it.
    func open() throws -> ByteFile {
        switch self {
        case .file(let output):
            try ByteFile(creating: output.temporaryPath, named: output.path)
        case .standardOutput: ByteFile(descriptor: 1, named: "standard output")
        }
    }

    /// Writes what waits, and gives a file its name.
    func close(_ file: ByteFile) throws {
        try file.flush()
        if case .file(let output) = self { try output.commit() }
    }

    /// Whether what was written can be written anew.
    var isSeekable: Bool {
        switch self {
        case .file: true
        case .standardOutput: false
        }
    }
}
