package keep

// playStranger is for Unix.
func playStranger(string, string) {}
