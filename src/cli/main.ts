process.stdout.write(`ogw ${process.version}\n`)
