/// Why a control socket cannot be used: one line.
package struct ControlSocketError: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// The socket's path has more bytes than Unix sockets have room for.
    package let isForLength: Bool

    init(_ description: String, isForLength: Bool = false) {
        self.description = description
        self.isForLength = isForLength
    }
}
