import Glibc

/// Whether a descriptor is connected to the systemd journal (systemd.exec(5), `JOURNAL_STREAM`).
package struct JournalStream: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    /// - Parameter value: the variable's value: the device and inode of the stream, decimal, with a colon between them.
    init?(_ value: String) {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]) else {
            return nil
        }
        self.device = device
        self.inode = inode
    }

    /// Whether a descriptor is the stream. A program that redirects its standard error inherits the variable all the same.
    func isDescriptor(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    /// Whether a descriptor of this process is connected to the journal.
    package static func isConnected(_ descriptor: Int32) -> Bool {
        guard let value = getenv("JOURNAL_STREAM") else { return false }
        return JournalStream(String(cString: value))?.isDescriptor(descriptor) ?? false
    }
}
