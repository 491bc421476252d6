/// Makes a fragment appear in its file atomically.
///
/// FFmpeg rejects a file that ends within a `moof`, instead of reading it up to there. So a fragment is written as a
/// `free` box followed by its media, which every reader skips. When all of it is in the file, four bytes turn the box
/// into a `moof`. A reader at any moment, or after a crash of the writer, finds a playable file.
package enum FragmentSeal {
    /// Offset of the four bytes in the fragment.
    package static let offset = 4
    /// Their final value.
    package static let bytes = Array("moof".utf8)

    /// Converts a head built by ``FragmentBuilder`` into its form before sealing.
    ///
    /// - Precondition: the head begins with a `moof`.
    package static func open(_ head: inout [UInt8]) {
        let place = offset..<offset + bytes.count
        precondition(head[place].elementsEqual(bytes), "a fragment begins with its moof")
        head.replaceSubrange(place, with: "free".utf8)
    }
}
