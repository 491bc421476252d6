package import ArgumentParser

/// The format of the lines on standard error, for commands that take their time.
package struct LogFormatOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Format of log lines on standard error. json: one object per line.",
            valueName: "text|json"))
    package var logFormat = LogFormat.text

    package init() {}
}

/// Options of logging, which are the same in each program.
package struct LogOptions: ParsableArguments {
    @OptionGroup package var format: LogFormatOptions

    @Flag(name: .shortAndLong, help: "Log debug messages too.")
    package var verbose = false

    package init() {}

    /// Standard error, in the requested format.
    package var console: Console { Console(format: format.logFormat) }
}
