/// The reason why a control socket cannot be used: one line.
package struct ControlSocketError: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// Whether the path is too long for a Unix socket.
    package let isForLength: Bool

    init(_ description: String, isForLength: Bool = false) {
        self.description = description
        self.isForLength = isForLength
    }
}
