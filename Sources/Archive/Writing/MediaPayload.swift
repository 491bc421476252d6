/// Something that holds media bytes until they are written: a received message, or an array in tests.
package protocol MediaPayload: AnyObject, Sendable {
    /// The bytes; their address stays the same as long as the object lives.
    var memory: UnsafeRawBufferPointer { get }
}
