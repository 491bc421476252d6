/// How a fragment appears in its file all at once.
///
/// A file that ends within a `moof` is refused by FFmpeg, not only cut short. So a fragment is written as a `free`
/// box and what would be its media, which every reader skips, and when all of it is in the file, four bytes make it
/// a `moof`. Whoever looks in between, or after the writer was killed, finds a file that plays.
package enum FragmentSeal {
    /// Where the four bytes stand, counted from the beginning of the fragment.
    package static let offset = 4
    /// What they become last.
    package static let bytes = Array("moof".utf8)

    /// Makes a head that ``FragmentBuilder`` built into what is to be written first.
    ///
    /// - Precondition: the head begins with a `moof`.
    package static func open(_ head: inout [UInt8]) {
        let place = offset..<offset + bytes.count
        precondition(head[place].elementsEqual(bytes), "a fragment begins with its moof")
        head.replaceSubrange(place, with: "free".utf8)
    }
}
