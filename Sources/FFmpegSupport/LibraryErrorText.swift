import CFFmpeg

/// The text of an error code of FFmpeg's libraries (`av_strerror`).
package func libraryErrorText(_ code: Int32) -> String {
    var text = [CChar](repeating: 0, count: 128)
    av_strerror(code, &text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
