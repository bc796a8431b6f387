"""Which methods there are, one fit and its files, fits compared, and the memory that they take."""
